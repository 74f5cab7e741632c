package scheduler

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/cache"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeel"
	"evenkeel.dev/client/go/evenkeelv1"
)

const (
	maxCalls      = 16              // to the planner at a time; more wait in their goroutine
	keptFor       = 24 * time.Hour  // a plan that has expired still serves while the planner is away
	maxRefusalTTL = 5 * time.Minute // a refused job is asked for less and less often, up to this
)

// planner is what the plugin calls; *evenkeel.Client is one.
type planner interface {
	PlanJob(context.Context, *evenkeelv1.PlanJobRequest, ...grpc.CallOption) (*evenkeelv1.PlanJobResponse, error)
	GetPlan(context.Context, *evenkeelv1.GetPlanRequest, ...grpc.CallOption) (*evenkeelv1.GetPlanResponse, error)
}

// answer is what is known of a job. Exactly one of the first four is set.
type answer struct {
	plans       []layout // that fit, best first
	misfit      string   // why none fits
	refused     error    // the planner refuses the job
	unavailable error    // the planner could not be asked

	expires  time.Time
	refusals int // in a row
}

// lookup knows answers or gets them in the background: one call at a time for a key, whoever asks.
type lookup struct {
	args     *Args
	planner  planner
	activate func(map[string]*v1.Pod) // brings pods back to the scheduling queue
	breaker  *gobreaker.CircuitBreaker[[]layout]
	slots    chan struct{}
	done     context.Context // ends with the scheduler

	mu      sync.Mutex
	answers *cache.LRUExpireCache
	waiting map[string]*waiting
}

// waiting are the pods to bring back when a call for their key ends, or when it is time to ask again.
type waiting struct {
	calling bool
	timer   *time.Timer
	pods    map[types.UID]*v1.Pod
}

// ask gets the layouts of a job, called in the background.
type ask func(context.Context, planner) ([]layout, error)

// misfit is the error of an ask whose job fits nowhere.
type misfit struct{ text string }

func (m misfit) Error() string { return m.text }

func newLookup(ctx context.Context, args *Args, planner planner, activate func(map[string]*v1.Pod)) *lookup {
	return &lookup{
		args: args, planner: planner, activate: activate, done: ctx, slots: make(chan struct{}, maxCalls),
		answers: cache.NewLRUExpireCache(args.CacheSize), waiting: map[string]*waiting{},
		breaker: gobreaker.NewCircuitBreaker[[]layout](gobreaker.Settings{
			Name:        Name,
			Timeout:     args.BreakerCooldown.Duration,
			ReadyToTrip: func(counts gobreaker.Counts) bool { return counts.ConsecutiveFailures >= uint32(args.BreakerFailures) },
			IsSuccessful: func(err error) bool {
				return err == nil || !isUnavailable(err)
			},
			OnStateChange: func(_ string, _, to gobreaker.State) { metricBreaker.Set(float64(to)) },
		}),
	}
}

// get returns what is known, or nil where a call was started or runs already. It never waits. Unless there is a plan the
// pod is brought back later: after the call, or when the answer has expired.
func (l *lookup) get(key string, pod *v1.Pod, ask ask) *answer {
	l.mu.Lock()
	defer l.mu.Unlock()
	if known, ok := l.answers.Get(key); ok {
		found := known.(*answer)
		if left := time.Until(found.expires); left > 0 {
			metricLookups.WithLabelValues("hit").Inc()
			if found.plans == nil {
				l.wait(key, pod, left)
			}
			return found
		}
	}
	metricLookups.WithLabelValues("miss").Inc()
	list := l.wait(key, pod, 0)
	if !list.calling {
		list.calling = true
		if list.timer != nil {
			list.timer.Stop()
		}
		go l.call(key, ask)
	}
	return nil
}

// wait adds the pod to those that wait for the key, at most for `limit` unless that is 0. Needs mu.
func (l *lookup) wait(key string, pod *v1.Pod, limit time.Duration) *waiting {
	list := l.waiting[key]
	if list == nil {
		list = &waiting{pods: map[types.UID]*v1.Pod{}}
		l.waiting[key] = list
	}
	list.pods[pod.UID] = pod
	if limit > 0 && list.timer == nil {
		list.timer = time.AfterFunc(limit, func() { l.wake(key, false) })
	}
	return list
}

// wake brings all pods back that wait for the key. A timer does nothing while a call runs: the call will wake them.
func (l *lookup) wake(key string, called bool) {
	l.mu.Lock()
	list := l.waiting[key]
	if list != nil && list.calling && !called {
		list = nil
	} else {
		delete(l.waiting, key)
	}
	l.mu.Unlock()
	if list == nil {
		return
	}
	if list.timer != nil {
		list.timer.Stop()
	}
	pods := make(map[string]*v1.Pod, len(list.pods))
	for _, pod := range list.pods {
		pods[pod.Namespace+"/"+pod.Name] = pod
	}
	if l.done.Err() == nil {
		l.activate(pods)
	}
}

func (l *lookup) call(key string, ask ask) {
	select {
	case l.slots <- struct{}{}:
	case <-l.done.Done():
		return
	}
	defer func() { <-l.slots }()
	started := time.Now()
	plans, err := l.breaker.Execute(func() ([]layout, error) {
		ctx, cancel := context.WithTimeout(l.done, l.args.Deadline.Duration)
		defer cancel()
		return ask(ctx, l.planner)
	})
	found, word := l.classify(plans, err)
	if !errors.Is(err, gobreaker.ErrOpenState) && !errors.Is(err, gobreaker.ErrTooManyRequests) {
		metricCalls.WithLabelValues(word).Observe(time.Since(started).Seconds())
	}
	l.store(key, found)
	l.wake(key, true)
}

func (l *lookup) classify(plans []layout, err error) (*answer, string) {
	now := time.Now()
	var none misfit
	switch {
	case err == nil:
		return &answer{plans: plans, expires: now.Add(l.args.CacheTTL.Duration)}, "planned"
	case errors.As(err, &none):
		return &answer{misfit: none.text, expires: now.Add(l.args.CacheTTL.Duration)}, "misfit"
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		err = fmt.Errorf("the planner failed %d times in a row and is left alone for a while", l.args.BreakerFailures)
	case !isUnavailable(err):
		return &answer{refused: err, expires: now.Add(l.args.FailureTTL.Duration)}, "refused"
	}
	wait := l.args.FailureTTL.Duration
	var failed *evenkeel.Error
	if errors.As(err, &failed) {
		wait = max(wait, failed.RetryDelay)
	}
	return &answer{unavailable: err, expires: now.Add(wait)}, "unavailable"
}

// store keeps an answer. If the planner is unavailable, a plan that has expired stays in its place.
func (l *lookup) store(key string, found *answer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.answers.Get(key); ok {
		last := before.(*answer)
		if found.unavailable != nil && last.plans != nil {
			found = &answer{plans: last.plans, expires: found.expires}
		}
		if found.refused != nil && last.refused != nil {
			found.refusals = last.refusals + 1
			wait := min(l.args.FailureTTL.Duration<<min(found.refusals, 16), max(maxRefusalTTL, l.args.FailureTTL.Duration))
			found.expires = time.Now().Add(wait)
		}
	}
	l.answers.Add(key, found, keptFor)
}

// isUnavailable tells a planner that could not answer, or would not answer this scheduler (a wrong certificate), from one
// that refuses the job.
func isUnavailable(err error) bool {
	var failed *evenkeel.Error
	if errors.As(err, &failed) {
		return failed.Code != codes.InvalidArgument && failed.Code != codes.NotFound &&
			failed.Reason != evenkeel.ReasonPlanTimeLimit
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)
}

// planned asks for a plan of the request.
func planned(build func() (*evenkeelv1.PlanJobRequest, error), job *podJob) ask {
	return func(ctx context.Context, planner planner) ([]layout, error) {
		request, err := build()
		if err != nil {
			return nil, err
		}
		response, err := planner.PlanJob(ctx, request)
		if err != nil {
			return nil, err
		}
		return layoutsOf(response, job)
	}
}

// stored asks for a plan that pods of the group run by already; where it was lost, for the same plan again.
func stored(id string, again ask) ask {
	return kept(id, func(plan *evenkeelv1.Plan) ([]layout, error) { return []layout{newLayout(plan)}, nil },
		func(ctx context.Context, planner planner) ([]layout, error) {
			plans, err := again(ctx, planner)
			if err != nil {
				return nil, err
			}
			for _, plan := range plans {
				if plan.planID == id {
					return []layout{plan}, nil
				}
			}
			return nil, fmt.Errorf("other pods of the job run by %s, which the planner no longer has and does not make again: "+
				"delete them to plan the job anew", id)
		})
}

// given asks for a plan that the job was given before it began, as by Kueue's check; where it was lost, for one of its own.
func given(id string, job *podJob, again ask) ask {
	return kept(id, func(plan *evenkeelv1.Plan) ([]layout, error) {
		return layoutsOf(&evenkeelv1.PlanJobResponse{Plan: plan}, job)
	}, again)
}

// kept asks for a plan by its id; `lost` is asked where the planner has it no more.
func kept(id string, use func(*evenkeelv1.Plan) ([]layout, error), lost ask) ask {
	return func(ctx context.Context, planner planner) ([]layout, error) {
		response, err := planner.GetPlan(ctx, &evenkeelv1.GetPlanRequest{PlanId: id})
		if err == nil {
			return use(response.GetPlan())
		}
		var failed *evenkeel.Error
		if !errors.As(err, &failed) || failed.Reason != evenkeel.ReasonPlanNotFound {
			return nil, err
		}
		return lost(ctx, planner)
	}
}

// layoutsOf returns the plans that fit and that the pods can carry, best first.
func layoutsOf(response *evenkeelv1.PlanJobResponse, job *podJob) ([]layout, error) {
	offers := response.GetOffers()
	if len(offers) == 0 {
		offers = []*evenkeelv1.Plan{response.GetPlan()}
	}
	var plans []layout
	var why, unfit error
	for _, plan := range offers {
		if plan.GetMisfit() != nil {
			if unfit == nil {
				unfit = misfit{annotations.MisfitText(plan)}
			}
			continue
		}
		made := newLayout(plan)
		if err := made.check(job); err != nil {
			why = err
			continue
		}
		plans = append(plans, made)
	}
	switch {
	case len(plans) > 0:
		return plans, nil
	case why != nil:
		return nil, why
	case unfit != nil:
		return nil, unfit
	}
	return nil, errors.New("the planner answered without a plan")
}

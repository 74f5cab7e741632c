package kueue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeel"
	"evenkeel.dev/client/go/evenkeelv1"
)

const (
	maxMessage = 32768 // of AdmissionCheckState.message
	maxEvent   = 900   // of an event's message, which may have 1024 bytes
)

// sliceOf marks the Workload that an elastic Job, while it runs, gets for its new size.
const sliceOf = "kueue.x-k8s.io/workload-slice-replacement-for"

// Planner is what the controller calls; *evenkeel.Client is one.
type Planner interface {
	PlanJob(context.Context, *evenkeelv1.PlanJobRequest, ...grpc.CallOption) (*evenkeelv1.PlanJobResponse, error)
}

// workloadReconciler answers our check on workloads that have quota.
type workloadReconciler struct {
	client  client.Client
	planner Planner
	events  record.EventRecorder
}

// Reconcile plans a workload whose check of ours is pending.
func (r *workloadReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	workload := &kueue.Workload{}
	if err := r.client.Get(ctx, request.NamespacedName, workload); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !waits(workload) {
		return ctrl.Result{}, nil
	}
	before := workload.DeepCopy()
	for at := range workload.Status.AdmissionChecks {
		state := &workload.Status.AdmissionChecks[at]
		if state.State != kueue.CheckStatePending {
			continue
		}
		check, err := r.ours(ctx, state)
		if err != nil {
			return ctrl.Result{}, err
		}
		if check == nil {
			continue
		}
		if parameters, err := parametersOf(ctx, r.client, check); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "parameters", "check", check.Name) // the check is inactive and says why
		} else {
			r.answer(ctx, workload, state, parameters)
		}
	}
	// Another controller may have answered its check meanwhile. The whole list is written, so only if nobody has.
	if !changed(before, workload) {
		return ctrl.Result{}, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	asked := workload.DeepCopy() // what the API server returns may be later
	if err := r.client.Status().Patch(ctx, workload, patch); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.tellRetries(before, asked)
	return ctrl.Result{}, nil
}

// ours returns the check of a state; nil where it is another controller's, or gone, which Kueue itself tells.
func (r *workloadReconciler) ours(ctx context.Context, state *kueue.AdmissionCheckState) (*kueue.AdmissionCheck, error) {
	check := &kueue.AdmissionCheck{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: string(state.Name)}, check); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if check.Spec.ControllerName != ControllerName {
		return nil, nil
	}
	return check, nil
}

// waits says whether a workload has quota and is still wanted.
func waits(workload *kueue.Workload) bool {
	conditions := workload.Status.Conditions
	return workload.DeletionTimestamp == nil && (workload.Spec.Active == nil || *workload.Spec.Active) &&
		meta.IsStatusConditionTrue(conditions, kueue.WorkloadQuotaReserved) &&
		!meta.IsStatusConditionTrue(conditions, kueue.WorkloadFinished) &&
		!meta.IsStatusConditionTrue(conditions, kueue.WorkloadEvicted)
}

func changed(before, after *kueue.Workload) bool {
	for at := range after.Status.AdmissionChecks {
		if after.Status.AdmissionChecks[at].State != before.Status.AdmissionChecks[at].State {
			return true
		}
	}
	return false
}

// tellRetries leaves an event with each check that is to be tried again: Kueue keeps the messages of checks that were
// rejected, but resets those when it gives the quota back.
func (r *workloadReconciler) tellRetries(before, after *kueue.Workload) {
	for at := range after.Status.AdmissionChecks {
		state := &after.Status.AdmissionChecks[at]
		if state.State == kueue.CheckStateRetry && before.Status.AdmissionChecks[at].State != state.State {
			r.events.Eventf(after, corev1.EventTypeWarning, "AdmissionCheckRetry", "%s: %s", state.Name,
				shorten(state.Message, maxEvent))
		}
	}
}

// answer asks the planner and fills in the state.
func (r *workloadReconciler) answer(ctx context.Context, workload *kueue.Workload, state *kueue.AdmissionCheckState,
	parameters *Parameters) {
	job, err := jobOf(ctx, r.client, workload, parameters)
	if err == nil && len(job.podSets) == 0 {
		set(state, kueue.CheckStateReady, "no pod set asks for a plan: none has the annotation "+annotations.Model+", "+
			annotations.Job+" or "+annotations.JobConfigMap)
		return
	}
	var response *evenkeelv1.PlanJobResponse
	if err == nil {
		response, err = r.planner.PlanJob(ctx, job.request)
	}
	switch {
	case err != nil:
		decide(state, err, parameters)
	case response.GetPlan().GetMisfit() != nil:
		set(state, kueue.CheckStateRejected, "the job does not fit: "+annotations.MisfitText(response.GetPlan()))
	default:
		plan := response.GetPlan()
		if clash := update(state, workload, job, plan.GetPlanId()); clash != "" {
			set(state, kueue.CheckStateRejected, clash)
			return
		}
		text := readyText(plan, job.podGPUs)
		if workload.Annotations[sliceOf] != "" {
			text += "; the pods of the running Job keep the annotations of its first size"
		}
		set(state, kueue.CheckStateReady, text)
	}
}

// readyText tells of the plan, and what topology it counts on: kueue.x-k8s.io/podset-slice-required-topology and
// podset-slice-size of the pod template ask Kueue for that.
func readyText(plan *evenkeelv1.Plan, podGPUs int64) string {
	text := fmt.Sprintf("%s: %d GPUs of type %s, %.3g s per step", plan.GetPlanId(), plan.GetSubject().GetGpuCount(),
		plan.GetSubject().GetGpuType(), plan.GetPredictions().GetStep().GetTotalSeconds())
	if topology := annotations.TopologyText(plan, podGPUs); topology != "" {
		text += "; " + topology
	}
	return text
}

// decide rejects what the workload's author has to mend; what may pass is tried again, or let through.
func decide(state *kueue.AdmissionCheckState, err error, parameters *Parameters) {
	var failed *evenkeel.Error
	var bad badWorkload
	wait := parameters.retryAfter()
	switch {
	case errors.As(err, &bad):
		set(state, kueue.CheckStateRejected, err.Error())
	case errors.As(err, &failed) && (failed.Code == codes.InvalidArgument || failed.Reason == evenkeel.ReasonPlanTimeLimit):
		set(state, kueue.CheckStateRejected, "the planner refuses the job: "+err.Error())
	case errors.As(err, &failed) && failed.Code == codes.NotFound: // a dataset that may be uploaded yet
		again(state, "the planner refuses the job for now: "+err.Error(), wait)
	case !errors.As(err, &failed):
		again(state, err.Error(), wait)
	case parameters.OnPlannerFailure == FailureReady:
		set(state, kueue.CheckStateReady, "admitted without a plan, since the planner can not be asked: "+err.Error())
	default:
		again(state, "the planner can not be asked: "+err.Error(), max(wait, failed.RetryDelay))
	}
}

func again(state *kueue.AdmissionCheckState, message string, wait time.Duration) {
	set(state, kueue.CheckStateRetry, message)
	seconds := int32(wait.Seconds() + 0.999)
	state.RequeueAfterSeconds = &seconds
}

func set(state *kueue.AdmissionCheckState, to kueue.CheckState, message string) {
	state.State, state.Message, state.RequeueAfterSeconds = to, shorten(message, maxMessage), nil
	state.LastTransitionTime = metav1.Now()
	if to != kueue.CheckStateReady {
		state.PodSetUpdates = nil
	}
}

// shorten cuts at a limit of the API, between characters.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit - len("...")
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}

// update gives the pods the plan's id, as annotation and as label, and the number of pods that Kueue admitted, which the
// scheduler plugin reads. Kueue only adds: a template that says otherwise would fail to be admitted, so it is told so
// here. The template of a Job that runs can not change: it keeps what its first size was given.
func update(state *kueue.AdmissionCheckState, workload *kueue.Workload, job *workloadJob, plan string) string {
	state.PodSetUpdates = nil
	for _, podSet := range workload.Spec.PodSets {
		if !slices.Contains(job.podSets, podSet.Name) {
			continue
		}
		change := kueue.PodSetUpdate{Name: podSet.Name}
		for _, one := range []struct {
			key, text string
			has       map[string]string
			add       *map[string]string
		}{{annotations.Plan, plan, podSet.Template.Annotations, &change.Annotations},
			{annotations.Plan, plan, podSet.Template.Labels, &change.Labels},
			{annotations.Pods, strconv.FormatInt(job.pods, 10), podSet.Template.Annotations, &change.Annotations}} {
			switch has, ok := one.has[one.key]; {
			case !ok:
				if *one.add == nil {
					*one.add = map[string]string{}
				}
				(*one.add)[one.key] = one.text
			case has != one.text && workload.Annotations[sliceOf] == "":
				return fmt.Sprintf("pod set %s has %s %q already, but it is %s: remove it from the template, since this check adds it",
					podSet.Name, one.key, has, one.text)
			}
		}
		state.PodSetUpdates = append(state.PodSetUpdates, change)
	}
	return ""
}

func (r *workloadReconciler) setup(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).For(&kueue.Workload{}).
		Watches(&corev1.ConfigMap{}, handler.Funcs{UpdateFunc: r.configMapChanged}).
		WithOptions(controller.Options{MaxConcurrentReconciles: 8}).Complete(r)
}

// Setup adds both controllers to a manager whose scheme has the core types and kueue.x-k8s.io/v1beta2, and whose cache has
// CacheOptions.
func Setup(manager ctrl.Manager, planner Planner) error {
	if err := (&checkReconciler{manager.GetClient()}).setup(manager); err != nil {
		return err
	}
	events := manager.GetEventRecorderFor("evenkeel-kueue")
	return (&workloadReconciler{manager.GetClient(), planner, events}).setup(manager)
}

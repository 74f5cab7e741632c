package scheduler

import (
	"testing"
	"testing/synctest"

	"google.golang.org/grpc/codes"
	fwk "k8s.io/kube-scheduler/framework"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeel"
	"evenkeel.dev/client/go/evenkeelv1"
)

// Kueue's check gives a job its plan before its pods come.
func TestPlanThatWasGivenIsTaken(t *testing.T) {
	for name, test := range map[string]struct {
		known        bool
		gpus         int32
		rank, plan   string
		calls, gets  int
		refused      string
		configMapOff bool
	}{
		"known":                    {known: true, gpus: 32, plan: "plan-given", gets: 1},
		"its ConfigMap is gone":    {known: true, gpus: 32, plan: "plan-given", gets: 1, configMapOff: true},
		"lost":                     {plan: "plan-h100-sxm-80gb", gets: 1, calls: 1},
		"of another size":          {known: true, gpus: 40, gets: 1, refused: "plan plan-given is for 40 GPUs"},
		"written for a lost place": {known: true, gpus: 32, rank: "8", plan: "plan-h100-sxm-80gb", calls: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Args{})
			r.addNodes("h", h100Product, 4, 4)
			r.planner.stored = func(id string) (*evenkeelv1.GetPlanResponse, error) {
				if !test.known {
					return nil, &evenkeel.Error{Code: codes.NotFound, Reason: evenkeel.ReasonPlanNotFound}
				}
				return &evenkeelv1.GetPlanResponse{Plan: plan(id, "h100-sxm-80gb", test.gpus, 2)}, nil
			}
			pod := gangPod("g", 0, 4, 8)
			pod.Annotations[annotations.Plan] = "plan-given"
			if test.rank != "" {
				pod.Annotations[annotations.Rank] = test.rank
			}
			if test.configMapOff {
				delete(pod.Annotations, annotations.Model)
				pod.Annotations[annotations.JobConfigMap] = "gone"
			}
			r.schedule(pod)
			synctest.Wait()
			_, state, status := r.schedule(pod)
			if test.refused != "" {
				r.wantCode(status, fwk.UnschedulableAndUnresolvable, test.refused)
			} else if found := read(state); found == nil || found.chosen.planID != test.plan {
				t.Errorf("%s: %+v %v", name, found, status)
			}
			if r.planner.gets != test.gets || r.planner.calls() != test.calls {
				t.Errorf("%s: %d gets, %d plans", name, r.planner.gets, r.planner.calls())
			}
		})
	}
}

package scheduler

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeel"
	"evenkeel.dev/client/go/evenkeelv1"
)

const h100Product, a100Product = "NVIDIA-H100-80GB-HBM3", "NVIDIA-A100-SXM4-80GB"

func unavailable(*evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error) {
	return nil, &evenkeel.Error{Code: codes.Unavailable, Message: "no server"}
}

func (r *rig) wantCode(status *fwk.Status, code fwk.Code, text string) {
	r.Helper()
	if status.Code() != code || !strings.Contains(status.Message(), text) {
		r.Fatalf("status %v %q, want %v with %q", status.Code(), status.Message(), code, text)
	}
}

func TestOneCallForAGangAndNoneWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 4, 4)
		r.planner.delay = time.Second
		for at := range 4 {
			started := time.Now()
			_, _, status := r.schedule(gangPod("g", at, 4, 8))
			r.wantCode(status, fwk.UnschedulableAndUnresolvable, "waiting for the planner's answer")
			if waited := time.Since(started); waited != 0 {
				t.Errorf("a cycle waited %v", waited)
			}
		}
		time.Sleep(1100 * time.Millisecond)
		if r.planner.calls() != 1 {
			t.Errorf("%d calls for one gang", r.planner.calls())
		}
		if count := r.handle.takeActivated(); count != 4 {
			t.Errorf("%d pods came back to the queue", count)
		}
		for at := range 4 {
			node, state, status := r.schedule(gangPod("g", at, 4, 8))
			if node == "" || read(state).place != at {
				t.Fatalf("pod %d: node %q, place %d, %v", at, node, read(state).place, status)
			}
		}
		pool := r.planner.requests[0].GetJob().GetCluster().GetPools()[0]
		if pool.GetGpuType() != "h100-sxm-80gb" || pool.GetGpuCount() != 32 || pool.GetGpusPerNode() != 8 {
			t.Errorf("asked for %v", pool)
		}
	})
}

func TestEqualJobsShareAPlanAndHashesStayInTheirGang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 8, 8)
		r.schedule(gangPod("a", 0, 1, 8))
		synctest.Wait()
		if node, _, status := r.schedule(gangPod("b", 0, 1, 8)); node == "" {
			t.Fatalf("an equal job of another gang has to wait: %v", status)
		}
		for _, gang := range []string{"c", "d"} {
			pod := gangPod(gang, 0, 1, 8)
			pod.Annotations[annotations.SpecHash] = "same"
			_, _, status := r.schedule(pod)
			r.wantCode(status, fwk.UnschedulableAndUnresolvable, waitingForAnswer)
		}
		synctest.Wait()
		if r.planner.calls() != 3 {
			t.Errorf("%d calls, want 3", r.planner.calls())
		}
	})
}

func TestFailOpenGoesOnWithoutAPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 8, 8)
		r.planner.set(unavailable)
		r.schedule(gangPod("g", 0, 4, 8))
		synctest.Wait()
		node, state, _ := r.schedule(gangPod("g", 0, 4, 8))
		if node == "" || read(state).chosen != nil {
			t.Fatalf("node %q", node)
		}
		r.planner.set(planAll)
		time.Sleep(time.Minute)
		if node, state, _ := r.schedule(gangPod("g", 1, 4, 8)); node == "" || read(state).chosen != nil {
			t.Error("half of a gang has a plan, the other half has not")
		}
		r.schedule(gangPod("h", 0, 4, 8))
		synctest.Wait()
		if _, state, _ := r.schedule(gangPod("h", 0, 4, 8)); read(state) == nil || read(state).chosen == nil {
			t.Error("the next gang has no plan although the planner is back")
		}
	})
}

func TestFailClosedWaitsAndAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{OnPlannerFailure: FailClosed})
		r.addNodes("h", h100Product, 4, 4)
		r.planner.set(unavailable)
		pod := gangPod("g", 0, 4, 8)
		r.schedule(pod)
		synctest.Wait()
		_, _, status := r.schedule(pod)
		r.wantCode(status, fwk.UnschedulableAndUnresolvable, "the planner can not be asked: Unavailable: no server")
		r.handle.takeActivated()
		time.Sleep(5100 * time.Millisecond) // failureTTL
		if r.handle.takeActivated() != 1 {
			t.Fatal("the pod is stuck: nothing brings it back")
		}
		r.planner.set(planAll)
		r.schedule(pod)
		synctest.Wait()
		if node, _, status := r.schedule(pod); node == "" {
			t.Fatalf("no node although the planner is back: %v", status)
		}
	})
}

func TestBreakerSparesADeadPlanner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{OnPlannerFailure: FailClosed})
		r.addNodes("h", h100Product, 20, 20)
		r.planner.set(unavailable)
		for at := range 12 {
			r.schedule(gangPod(fmt.Sprint("g", at), 0, at+1, 8)) // jobs of different sizes: no shared answers
			synctest.Wait()
		}
		if r.planner.calls() != 5 {
			t.Errorf("%d calls to a dead planner, want 5", r.planner.calls())
		}
		_, _, status := r.schedule(gangPod("g11", 0, 12, 8))
		r.wantCode(status, fwk.UnschedulableAndUnresolvable, "failed 5 times in a row")
		r.planner.set(planAll)
		time.Sleep(16 * time.Second) // breakerCooldown and failureTTL
		r.schedule(gangPod("g11", 0, 12, 8))
		synctest.Wait()
		if node, _, status := r.schedule(gangPod("g11", 0, 12, 8)); node == "" {
			t.Errorf("the breaker stays open: %v", status)
		}
	})
}

func TestExpiredPlanServesWhileThePlannerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{OnPlannerFailure: FailClosed})
		r.addNodes("h", h100Product, 4, 4)
		r.schedule(gangPod("a", 0, 1, 8))
		synctest.Wait()
		time.Sleep(11 * time.Minute)
		r.planner.set(unavailable)
		_, _, status := r.schedule(gangPod("b", 0, 1, 8))
		r.wantCode(status, fwk.UnschedulableAndUnresolvable, "waiting")
		synctest.Wait()
		if node, _, status := r.schedule(gangPod("b", 0, 1, 8)); node == "" || r.planner.calls() != 2 {
			t.Errorf("%v; %d calls", status, r.planner.calls())
		}
	})
}

func TestMisfitIsRefusedWithReasonAndRemedies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 1, 1)
		r.planner.set(func(*evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error) {
			return &evenkeelv1.PlanJobResponse{Plan: &evenkeelv1.Plan{Misfit: &evenkeelv1.Misfit{Text: "Stage 0 lacks 3 GiB.",
				Remedies: []*evenkeelv1.Remedy{{Text: "16 GPUs"}, {Text: "smaller packs"}}}}}, nil
		})
		pod := gangPod("g", 0, 1, 8)
		r.schedule(pod)
		synctest.Wait()
		_, _, status := r.schedule(pod)
		r.wantCode(status, fwk.UnschedulableAndUnresolvable,
			"the job does not fit: Stage 0 lacks 3 GiB. It would fit with: 16 GPUs; smaller packs")
	})
}

func TestRefusedJobIsAskedForEverMoreSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 1, 1)
		r.planner.set(func(*evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error) {
			return nil, &evenkeel.Error{Code: codes.InvalidArgument, Reason: evenkeel.ReasonInvalidRequest, Message: "wrong",
				Violations: []evenkeel.Violation{{Field: "job.model.name", Description: "unknown"}}}
		})
		pod := gangPod("g", 0, 1, 8)
		for end := time.Now().Add(30 * time.Minute); time.Now().Before(end); time.Sleep(time.Second) {
			if _, _, status := r.schedule(pod); status.Message() != waitingForAnswer {
				r.wantCode(status, fwk.UnschedulableAndUnresolvable, "job.model.name: unknown")
			}
			synctest.Wait()
		}
		if calls := r.planner.calls(); calls < 8 || calls > 15 {
			t.Errorf("%d calls in half an hour", calls)
		}
		time.Sleep(6 * time.Minute)
		r.planner.set(planAll)
		r.schedule(pod)
		synctest.Wait()
		if node, _, status := r.schedule(pod); node == "" {
			t.Errorf("still refused: %v", status)
		}
	})
}

func TestOffersAndFreeGPUsChooseTheType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("a", a100Product, 2, 2)
		r.addNodes("h", h100Product, 2, 2)
		r.addNodes("odd", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb", 4, 4)
		r.schedule(gangPod("x", 0, 2, 8))
		synctest.Wait()
		if pools := r.planner.requests[0].GetJob().GetCluster().GetPools(); len(pools) != 2 {
			t.Fatalf("offers %v", pools)
		}
		// The planner's first is "a"; then no "a" is free.
		for _, want := range []struct{ gang, prefix string }{{"x", "a-"}, {"y", "h-"}} {
			for at := range 2 {
				node, _, status := r.schedule(gangPod(want.gang, at, 2, 8))
				if !strings.HasPrefix(node, want.prefix) {
					t.Errorf("gang %s went to %q: %v", want.gang, node, status)
				}
			}
		}
		_, _, status := r.schedule(gangPod("z", 0, 2, 8))
		if status.Code() == fwk.UnschedulableAndUnresolvable {
			t.Errorf("a full cluster must leave the way to preemption open: %v", status)
		}
		_, _, status = r.schedule(gangPod("big", 0, 3, 8))
		r.wantCode(status, fwk.UnschedulableAndUnresolvable, "room for fewer: a100-sxm-80gb for 2, h100-sxm-80gb for 2")
		pod := gangPod("typed", 0, 2, 8)
		pod.Annotations[annotations.GPUType] = "B200"
		_, _, status = r.schedule(pod)
		r.wantCode(status, fwk.UnschedulableAndUnresolvable, "of type B200")
	})
}

func TestTensorGroupSharesANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 3, 3)
		r.planner.set(func(*evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error) {
			return &evenkeelv1.PlanJobResponse{Plan: plan("plan-t", "h100-sxm-80gb", 16, 4)}, nil
		})
		// Five GPUs of node 0 are taken: it has no room for a group of four.
		taken := gangPod("other", 0, 1, 5)
		taken.Spec.NodeName = "h-0"
		r.pods = append(r.pods, taken)
		r.refresh()
		r.schedule(gangPod("g", 0, 16, 1))
		synctest.Wait()
		nodes := map[int]string{}
		for at := range 16 {
			node, state, status := r.schedule(gangPod("g", at, 16, 1))
			if node == "" {
				t.Fatalf("pod %d: %v", at, status)
			}
			nodes[read(state).place] = node
		}
		for place, node := range nodes {
			if node == "h-0" || node != nodes[place/4*4] {
				t.Errorf("place %d is on %s, its group on %s", place, node, nodes[place/4*4])
			}
		}
		pod := gangPod("split", 0, 5, 3)
		r.planner.set(func(*evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error) {
			return &evenkeelv1.PlanJobResponse{Plan: plan("plan-u", "h100-sxm-80gb", 15, 5)}, nil
		})
		r.schedule(pod)
		synctest.Wait()
		_, _, status := r.schedule(pod)
		r.wantCode(status, fwk.UnschedulableAndUnresolvable, "pods of 3 GPUs split such groups")
	})
}

func TestGangStaysUnderOneLeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 12, 4) // leaves h0, h1, h2
		for _, name := range []string{"h-0", "h-9"} {
			pod := gangPod("busy", 0, 1, 8)
			pod.Name, pod.Spec.NodeName = "busy-"+name, name
			r.pods = append(r.pods, pod)
		}
		r.refresh()
		r.schedule(gangPod("g", 0, 4, 8))
		synctest.Wait()
		for at := range 4 {
			node, _, status := r.schedule(gangPod("g", at, 4, 8))
			if node < "h-4" || node > "h-7" {
				t.Errorf("pod %d is on %s, outside of the only leaf with room for all: %v", at, node, status)
			}
		}
	})
}

// begun makes a rig with 128 nodes, so many under each leaf, and the first pods of gangs of 16 pods.
func begun(t *testing.T, perLeaf int, gangs ...string) *rig {
	r := newRig(t, Args{})
	r.addNodes("h", h100Product, 128, perLeaf)
	for _, name := range gangs {
		r.schedule(gangPod(name, 0, 16, 8))
		synctest.Wait()
		r.schedule(gangPod(name, 0, 16, 8))
	}
	return r
}

func TestNarrowChoiceThatFailsIsWidened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begun(t, 16, "g")
		pod := gangPod("g", 1, 16, 8)
		state, result, status := r.preFilter(pod)
		if result == nil || len(result.NodeNames) != enoughNodes {
			t.Fatalf("nodes %v, %v", result, status)
		}
		if _, status := r.plugin.PostFilter(t.Context(), state, pod, nil); !status.IsSuccess() {
			t.Errorf("preemption is not kept from the few nodes: %v", status)
		}
		if r.handle.takeActivated() == 0 {
			t.Error("the pod is not tried again")
		}
		for _, at := range []int{1, 2} {
			if state, result, _ := r.preFilter(gangPod("g", at, 16, 8)); result != nil || read(state).narrowed {
				t.Errorf("pod %d: nodes %v after the narrow choice failed", at, result)
			}
		}
		if _, status := r.plugin.PostFilter(t.Context(), framework.NewCycleState(), pod, nil); status.IsSuccess() {
			t.Error("preemption of other pods is stopped")
		}
	})
}

func TestNarrowChoiceHasRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begun(t, 16, "g")
		hosted := gangPod("g", 2, 16, 8)
		hosted.Spec.Containers[0].Ports = []v1.ContainerPort{{HostPort: 29500, Protocol: v1.ProtocolTCP}}
		if _, result, _ := r.preFilter(hosted); result == nil || len(result.NodeNames) != enoughNodes {
			t.Error("free host ports need a look at all nodes")
		}
		for at := range r.nodes { // somebody without GPUs has the port everywhere
			taken := hosted.DeepCopy()
			taken.Name, taken.Spec.NodeName = "taken", r.nodes[at].Name
			taken.Spec.Containers[0].Resources = v1.ResourceRequirements{}
			r.pods = append(r.pods, taken)
		}
		r.refresh()
		if _, result, _ := r.preFilter(hosted); result != nil {
			t.Errorf("narrow choice of nodes without the port: %v", result.NodeNames)
		}
		heavy := gangPod("g", 3, 16, 8)
		heavy.Spec.Containers[0].Resources.Requests[v1.ResourceMemory] = resource.MustParse("1Ti")
		if _, result, _ := r.preFilter(heavy); result != nil {
			t.Errorf("narrow choice of nodes without memory: %v", result.NodeNames)
		}
	})
}

func TestNodesWithoutLabelsAreSampled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begun(t, 0, "g")
		if _, result, _ := r.preFilter(gangPod("g", 1, 16, 8)); result == nil || len(result.NodeNames) != sampleNodes {
			t.Errorf("nodes %v", result)
		}
	})
}

func TestPodsThatDependOnOthersChooseFromAllDomains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := begun(t, 16, "spread", "apart")
		spread := gangPod("spread", 1, 16, 8)
		spread.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1}}
		apart := gangPod("apart", 1, 16, 8)
		apart.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{}}
		for _, pod := range []*v1.Pod{spread, apart} {
			state, result, _ := r.preFilter(pod)
			if result == nil || len(result.NodeNames) != sampleNodes {
				t.Fatalf("%s: nodes %v", pod.Name, result)
			}
			leaves := map[int]int{}
			for name := range result.NodeNames {
				leaves[read(state).nodes.of[name]]++
			}
			for leaf, count := range leaves {
				if count < 10 {
					t.Errorf("%s: %d nodes of leaf %d", pod.Name, count, leaf)
				}
			}
			if len(leaves) != 8 {
				t.Errorf("%s: %d leaves", pod.Name, len(leaves))
			}
		}
	})
}

func TestUnreserveFreesTheRankAndTheGang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 4, 4)
		r.schedule(gangPod("g", 0, 2, 8))
		synctest.Wait()
		_, first, _ := r.schedule(gangPod("g", 0, 2, 8))
		_, second, _ := r.schedule(gangPod("g", 1, 2, 8))
		_, _, status := r.schedule(gangPod("g", 2, 2, 8))
		r.wantCode(status, fwk.Unschedulable, "all 2 places of the job are taken")
		r.plugin.Unreserve(t.Context(), first, gangPod("g", 0, 2, 8), "h-0")
		if _, third, _ := r.schedule(gangPod("g", 2, 2, 8)); read(third).place != 0 {
			t.Errorf("place %d, want the free one", read(third).place)
		}
		r.plugin.Unreserve(t.Context(), second, gangPod("g", 1, 2, 8), "h-1")
		r.plugin.Unreserve(t.Context(), second, gangPod("g", 2, 2, 8), "h-1")
		if len(r.plugin.gangs.known) != 0 {
			t.Errorf("gangs that are gone stay in memory: %v", r.plugin.gangs.known)
		}
	})
}

func TestRestartReadsRanksFromPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 4, 4)
		r.planner.stored = func(id string) (*evenkeelv1.GetPlanResponse, error) {
			return &evenkeelv1.GetPlanResponse{Plan: plan(id, "h100-sxm-80gb", 32, 2)}, nil
		}
		bound := gangPod("g", 7, 4, 8)
		bound.Spec.NodeName = "h-2"
		bound.Annotations[annotations.Plan], bound.Annotations[annotations.Rank] = "plan-old", "0"
		r.plugin.observe(bound, false)
		r.schedule(gangPod("g", 1, 4, 8))
		synctest.Wait()
		_, state, status := r.schedule(gangPod("g", 1, 4, 8))
		if found := read(state); found == nil || found.chosen.planID != "plan-old" || found.place != 1 {
			t.Fatalf("%+v %v", found, status)
		}
		if r.planner.gets != 1 || r.planner.calls() != 0 {
			t.Errorf("%d gets, %d plans", r.planner.gets, r.planner.calls())
		}
		bound.Status.Phase = v1.PodFailed
		r.plugin.observe(bound, false)
		if _, state, _ := r.schedule(gangPod("g", 2, 4, 8)); read(state).place != 0 {
			t.Error("the rank of a failed pod is not free")
		}
	})
}

func TestLostPlanIsNotReplacedByAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, Args{})
		r.addNodes("h", h100Product, 4, 4)
		r.planner.stored = func(string) (*evenkeelv1.GetPlanResponse, error) {
			return nil, &evenkeel.Error{Code: codes.NotFound, Reason: evenkeel.ReasonPlanNotFound}
		}
		bound := gangPod("g", 0, 4, 8)
		bound.Spec.NodeName, bound.Annotations[annotations.Plan], bound.Annotations[annotations.Rank] = "h-2", "plan-old", "0"
		r.plugin.observe(bound, false)
		r.schedule(gangPod("g", 1, 4, 8))
		synctest.Wait()
		_, _, status := r.schedule(gangPod("g", 1, 4, 8))
		r.wantCode(status, fwk.UnschedulableAndUnresolvable, "plan-old")
	})
}

func TestAnnotationsTravelWithTheBindingOrByPatch(t *testing.T) {
	for binder, action := range map[string]string{Name: "create", "DefaultBinder": "patch"} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, Args{})
			r.handle.binder = binder
			r.addNodes("h", h100Product, 4, 4)
			pod := gangPod("g", 0, 4, 8)
			if _, err := r.handle.client.CoreV1().Pods("ns").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			r.handle.client.ClearActions()
			r.schedule(pod)
			synctest.Wait()
			_, state, _ := r.schedule(pod)
			if _, status := r.plugin.PreBindPreFlight(t.Context(), state, pod, "h-0"); !status.IsSkip() {
				if status := r.plugin.PreBind(t.Context(), state, pod, "h-0"); !status.IsSuccess() {
					t.Fatal(status)
				}
			}
			if binder == Name {
				if status := r.plugin.Bind(t.Context(), state, pod, "h-0"); !status.IsSuccess() {
					t.Fatal(status)
				}
			}
			actions := r.handle.client.Actions()
			if len(actions) != 1 || actions[0].GetVerb() != action {
				t.Errorf("%s: actions %v", binder, actions)
			}
			want := map[string]string{annotations.Plan: "plan-h100-sxm-80gb", annotations.Stage: "0", annotations.Rank: "0"}
			if got := read(state).annotations(); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("annotations %v", got)
			}
		})
	}
}

func TestPodsWithoutAJobAreSkipped(t *testing.T) {
	r := newRig(t, Args{})
	pod := gangPod("g", 0, 1, 8)
	pod.Annotations = nil
	state, _, status := r.preFilter(pod)
	if !status.IsSkip() || !r.plugin.PreScore(t.Context(), state, pod, nil).IsSkip() ||
		!r.plugin.Reserve(t.Context(), state, pod, "n").IsSuccess() ||
		!r.plugin.Bind(t.Context(), state, pod, "n").IsSkip() {
		t.Error("the plugin has to do with a pod that asks for no plan")
	}
	if _, status := r.plugin.SignPod(t.Context(), pod); !status.IsSuccess() {
		t.Error("the plugin turns batching off for other pods")
	}
}

func TestAllAnswersOfThePlanner(t *testing.T) {
	for name, test := range map[string]struct {
		err         error
		unavailable bool
	}{
		"deadline":    {&evenkeel.Error{Code: codes.DeadlineExceeded}, true},
		"queue full":  {&evenkeel.Error{Code: codes.ResourceExhausted, Reason: evenkeel.ReasonQueueFull}, true},
		"certificate": {&evenkeel.Error{Code: codes.Unauthenticated}, true},
		"time limit":  {&evenkeel.Error{Code: codes.DeadlineExceeded, Reason: evenkeel.ReasonPlanTimeLimit}, false},
		"invalid":     {&evenkeel.Error{Code: codes.InvalidArgument}, false},
		"no dataset":  {&evenkeel.Error{Code: codes.NotFound, Reason: evenkeel.ReasonDatasetNotFound}, false},
		"misfit":      {misfit{"no"}, false},
		"own":         {errors.New("annotation"), false},
	} {
		if isUnavailable(test.err) != test.unavailable {
			t.Errorf("%s: unavailable %v", name, !test.unavailable)
		}
	}
}

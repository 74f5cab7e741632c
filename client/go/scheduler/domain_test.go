package scheduler

import (
	"testing"
	"testing/synctest"

	v1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeelv1"
)

const leafLabel = "network.topology.nvidia.com/leaf"

// wideRig is a rig whose planner keeps 16 ranks, two pods of eight, in a scale-up domain, and whose domains are leaves.
func wideRig(t *testing.T) *rig {
	r := newRig(t, Args{DomainLabel: leafLabel})
	r.planner.set(func(request *evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error) {
		gpus := request.GetJob().GetCluster().GetPools()[0].GetGpuCount()
		wide := plan("plan-w", "h100-sxm-80gb", gpus, 8)
		wide.Placement.Tiers = []*evenkeelv1.PlacementTier{{Name: "scale-up domain", RankCount: 16, UnitCount: gpus / 16,
			RequiredRanks: 16}}
		return &evenkeelv1.PlanJobResponse{Plan: wide}, nil
	})
	return r
}

// ask has the pod's job planned.
func (r *rig) ask(pod *v1.Pod) {
	r.schedule(pod)
	synctest.Wait()
}

// domain schedules a pod and returns the domain of its node, or "" and why it has none.
func (r *rig) domain(pod *v1.Pod) (string, *fwk.Status) {
	r.Helper()
	name, _, status := r.schedule(pod)
	for _, node := range r.nodes {
		if node.Name == name {
			return node.Labels[leafLabel], nil
		}
	}
	return "", status
}

// indexed is a pod of an Indexed Job: pods may come in any order.
func indexed(gang string, at, size, gpus int) *v1.Pod {
	pod := gangPod(gang, at, size, gpus)
	pod.Annotations["batch.kubernetes.io/job-completion-index"] = pod.Name[len(gang)+1:]
	return pod
}

func TestTensorGroupOverNodesStaysInADomain(t *testing.T) {
	for _, order := range [][]int{{0, 1, 2, 3}, {0, 2, 1, 3}, {3, 0, 2, 1}} {
		synctest.Test(t, func(t *testing.T) {
			r := wideRig(t)
			r.addNodes("h", h100Product, 6, 3) // two domains of three nodes: one node of each stays free
			r.ask(indexed("g", 0, 4, 8))
			domains := map[int]string{}
			for _, at := range order {
				found, status := r.domain(indexed("g", at, 4, 8))
				if found == "" {
					t.Fatalf("order %v, pod %d: %v", order, at, status)
				}
				domains[at] = found
			}
			if domains[0] != domains[1] || domains[2] != domains[3] || domains[0] == domains[2] {
				t.Errorf("order %v: domains %v", order, domains)
			}
		})
	}
}

func TestGroupsOfTwoJobsDoNotTakeEachOthersDomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := wideRig(t)
		r.addNodes("h", h100Product, 6, 3)
		r.ask(gangPod("a", 0, 2, 8))
		first, _ := r.domain(gangPod("a", 0, 2, 8))
		other, status := r.domain(gangPod("b", 0, 2, 8))
		if first == "" || other == "" || first == other {
			t.Fatalf("jobs began in %q and %q: %v", first, other, status)
		}
		for gang, want := range map[string]string{"a": first, "b": other} {
			if found, status := r.domain(gangPod(gang, 1, 2, 8)); found != want {
				t.Errorf("the group of %s began in %s and goes on in %q: %v", gang, want, found, status)
			}
		}
		_, status = r.domain(gangPod("c", 0, 2, 8))
		r.wantCode(status, fwk.UnschedulableAndUnresolvable, "scale-up domains without room for 2 pods that must share one")
	})
}

func TestNodesOfNoDomain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := wideRig(t)
		r.addNodes("bare", h100Product, 4, 0)
		r.ask(gangPod("g", 0, 2, 8))
		if node, _, status := r.schedule(gangPod("g", 0, 2, 8)); node == "" {
			t.Fatalf("held to a domain that no label tells: %v", status)
		}
		// Once a label tells domains apart, a node without it is in none.
		r.addNodes("h", h100Product, 1, 1)
		_, status := r.domain(gangPod("h", 0, 2, 8))
		r.wantCode(status, fwk.UnschedulableAndUnresolvable, "")
		r.addNodes("i", h100Product, 2, 2)
		if found, status := r.domain(gangPod("h", 0, 2, 8)); found != "i0" {
			t.Errorf("domain %q: %v", found, status)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := wideRig(t)
		r.plugin.args.DomainLabel = ""
		r.addNodes("h", h100Product, 2, 1)
		r.ask(gangPod("g", 0, 2, 8))
		for at := range 2 {
			if found, status := r.domain(gangPod("g", at, 2, 8)); found == "" {
				t.Errorf("held although no label is to tell domains: %v", status)
			}
		}
	})
}

func TestCordonedNodesAreNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := wideRig(t)
		r.addNodes("h", h100Product, 4, 2)
		r.nodes[0].Spec.Unschedulable = true
		r.refresh()
		r.ask(gangPod("g", 0, 2, 8))
		if found, status := r.domain(gangPod("g", 0, 2, 8)); found != "h1" {
			t.Errorf("domain %q: %v", found, status)
		}
	})
}

func TestPodsThatSplitAGroupAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := wideRig(t)
		r.addNodes("h", h100Product, 12, 6)
		r.planner.set(func(*evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error) {
			wide := plan("plan-w", "h100-sxm-80gb", 48, 4)
			wide.Placement.Tiers = []*evenkeelv1.PlacementTier{{RankCount: 48, UnitCount: 1, RequiredRanks: 12}}
			return &evenkeelv1.PlanJobResponse{Plan: wide}, nil
		})
		pod := gangPod("g", 0, 6, 8)
		r.ask(pod)
		_, _, status := r.schedule(pod)
		r.wantCode(status, fwk.UnschedulableAndUnresolvable,
			"needs 12 ranks in one scale-up domain, but pods of 8 GPUs split such groups")
	})
}

func TestDomainIsReadAgainAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := wideRig(t)
		r.addNodes("h", h100Product, 6, 3)
		bound := gangPod("g", 0, 2, 8)
		bound.Annotations[annotations.Plan], bound.Annotations[annotations.Rank] = "plan-w", "0"
		bound.Spec.NodeName = "h-4"
		r.pods = append(r.pods, bound)
		r.refresh()
		r.plugin.observe(bound, false)
		answer := r.planner.answer
		r.planner.stored = func(string) (*evenkeelv1.GetPlanResponse, error) {
			planned, err := answer(&evenkeelv1.PlanJobRequest{Job: &evenkeelv1.Job{Cluster: &evenkeelv1.Cluster{
				Pools: []*evenkeelv1.GpuPool{{GpuCount: 16}}}}})
			return &evenkeelv1.GetPlanResponse{Plan: planned.GetPlan()}, err
		}
		r.ask(gangPod("g", 1, 2, 8))
		if found, status := r.domain(gangPod("g", 1, 2, 8)); found != "h1" {
			t.Errorf("domain %q: %v", found, status)
		}
	})
}

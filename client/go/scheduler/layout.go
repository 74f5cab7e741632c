package scheduler

import (
	"fmt"
	"strconv"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeelv1"
)

// layout holds what placing pods needs of a plan; plans themselves are hundreds of times larger.
type layout struct {
	planID      string
	gpuType     string
	ranks       int // GPUs
	stages      int
	colocated   int // consecutive ranks that share a node (a tensor-parallel group)
	ranksOfNode int // ranks that the planner put on one node
	together    int // consecutive ranks that must share a scale-up domain, which spans nodes; 1: none must
}

func newLayout(plan *evenkeelv1.Plan) layout {
	return layout{
		planID:      plan.GetPlanId(),
		gpuType:     plan.GetSubject().GetGpuType(),
		ranks:       int(plan.GetSubject().GetGpuCount()),
		stages:      max(int(plan.GetParallelism().GetPipeline()), 1),
		colocated:   max(int(plan.GetPlacement().GetColocatedRanks()), 1),
		ranksOfNode: max(int(plan.GetPlacement().GetGpusPerNode()), 1),
		together:    annotations.RanksOfADomain(plan),
	}
}

// check says why pods of this many GPUs cannot carry the plan.
func (l layout) check(job *podJob) error {
	pod := int(job.podGPUs)
	if int64(l.ranks) != job.gpus() {
		return fmt.Errorf("plan %s is for %d GPUs, but %d pods of %d GPUs are %d", l.planID, l.ranks, job.pods, pod, job.gpus())
	}
	if l.colocated%pod != 0 && pod%l.colocated != 0 {
		return fmt.Errorf("plan %s needs %d ranks on one node, but pods of %d GPUs split such groups; use pods of %d GPUs",
			l.planID, l.colocated, pod, l.colocated)
	}
	if l.together%pod != 0 && pod%l.together != 0 {
		return fmt.Errorf("plan %s needs %d ranks in one scale-up domain, but pods of %d GPUs split such groups; use a number "+
			"of GPUs per pod that divides %d", l.planID, l.together, pod, l.together)
	}
	return nil
}

// stage returns the annotation of a pod with this many ranks from `rank` on: the pipeline is the slowest dimension of
// "tp-cp-dp-pp" (Placement.rank_order).
func (l layout) stage(rank, count int) string {
	perStage := max(l.ranks/l.stages, 1)
	first, last := rank/perStage, (rank+count-1)/perStage
	if first == last {
		return strconv.Itoa(first)
	}
	return fmt.Sprintf("%d-%d", first, last)
}

// podsPerBlock pods of consecutive index must share a node; podsPerNode should. podsPerDomain must share a scale-up
// domain.
func (l layout) podsPerBlock(podGPUs int64) int  { return max(l.colocated/int(podGPUs), 1) }
func (l layout) podsPerNode(podGPUs int64) int   { return max(l.ranksOfNode/int(podGPUs), 1) }
func (l layout) podsPerDomain(podGPUs int64) int { return max(l.together/int(podGPUs), 1) }

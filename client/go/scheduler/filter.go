package scheduler

import (
	"context"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"

	"evenkeel.dev/client/go/evenkeelv1"
)

const stateKey fwk.StateKey = Name

// A pod that waits is unschedulable and not "pending": kube-scheduler takes that for an error in PreFilter, tries the pod
// over and over, and would not wait for the answer to activate it.
const waitingForAnswer = "waiting for the planner's answer"

// cycle is what PreFilter found out, for the later steps of the same attempt. Never changed once written.
type cycle struct {
	job    *podJob
	chosen *layout // nil: the pod is scheduled without a plan
	place  int
	home   domain

	node   string         // the pod must go there: ranks that share a node began there
	needs  int64          // free GPUs that a node must have: the rest of such ranks
	beside string         // the pod should go there: the planner put its ranks on that node
	domain string         // the pod must go into this scale-up domain: ranks that share one began there
	room   map[string]int // places in each scale-up domain; nil unless ranks that share one begin with the pod
	rest   int            // places that such ranks need
	near   bool           // whether nodes differ in how near they are to the pod's neighbours, or to its job
	nodes  *topologies
	scores []int64 // of each of the distinct topologies

	only     sets.Set[string] // nodes to look at; nil: all of the GPU type
	narrowed bool
}

// Clone returns the same: no later step changes it.
func (c *cycle) Clone() fwk.StateData { return c }

func read(state fwk.CycleState) *cycle {
	data, err := state.Read(stateKey)
	if err != nil {
		return nil
	}
	return data.(*cycle)
}

// PreFilter finds the pod's plan and place. Without a plan the pod waits, is refused with the planner's reason, or is
// scheduled as if this plugin were not there.
func (p *Plugin) PreFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ []fwk.NodeInfo) (
	*fwk.PreFilterResult, *fwk.Status) {
	if !wantsPlan(pod) {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	size, err := p.gangSize(pod)
	if err != nil {
		return nil, fwk.AsStatus(err)
	}
	pod, err = p.described(pod)
	if err != nil {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, err.Error())
	}
	job, err := parsePod(pod, p.args.GPUResources, size)
	if err != nil {
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, err.Error())
	}
	found, neighbour, status := p.place(ctx, pod, job)
	if status != nil {
		return nil, status
	}
	// Nodes near the neighbour may be of a scale-up domain that Filter does not admit.
	if found.chosen != nil && neighbour != "" && found.domain == "" && found.room == nil {
		found.only = p.narrow(ctx, pod, found, neighbour)
		found.narrowed = found.only != nil
	}
	state.Write(stateKey, found)
	if found.chosen == nil {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	if found.node != "" {
		return &fwk.PreFilterResult{NodeNames: sets.New(found.node)}, nil
	}
	if found.narrowed {
		return &fwk.PreFilterResult{NodeNames: found.only}, nil
	}
	names, all := p.inventory.nodesOf(found.chosen.gpuType)
	if !all {
		return &fwk.PreFilterResult{NodeNames: names}, nil
	}
	if found.needs <= job.podGPUs && found.domain == "" && found.room == nil {
		return nil, fwk.NewStatus(fwk.Skip) // Filter would let every node pass: it need not be called for each
	}
	return nil, nil
}

// place decides by what plan and at which place of the gang the pod runs. It also returns the node of a pod next to it by
// rank, if there is one.
func (p *Plugin) place(ctx context.Context, pod *v1.Pod, job *podJob) (*cycle, string, *fwk.Status) {
	var pinned *layout
	var planID string
	var planless bool
	var home domain
	p.gangs.with(job.group, func(g *gang) { pinned, planID, planless, home = g.pinned, g.planID, g.planless, g.home })
	if planless {
		return &cycle{job: job}, "", nil
	}
	if pinned == nil {
		known, status := p.plans(pod, job, planID)
		if status != nil {
			return nil, "", status
		}
		if known.unavailable != nil {
			return &cycle{job: job}, "", nil
		}
		if pinned, home, status = p.choose(ctx, pod, job, known.plans); status != nil {
			return nil, "", status
		}
	}
	if err := pinned.check(job); err != nil {
		return nil, "", fwk.NewStatus(fwk.UnschedulableAndUnresolvable, err.Error())
	}
	found := &cycle{job: job, chosen: pinned, home: home}
	var neighbour string
	var err error
	p.gangs.with(job.group, func(g *gang) { neighbour, err = p.neighbours(g, found, pod) })
	if err != nil {
		return nil, "", fwk.NewStatus(fwk.Unschedulable, err.Error())
	}
	if found.rest > 0 {
		found.room = p.domainRoom(ctx, pod, found)
	}
	return found, neighbour, nil
}

// plans returns the plans known for the job; an answer without plans comes back only if the job goes ahead without one.
func (p *Plugin) plans(pod *v1.Pod, job *podJob, planID string) (*answer, *fwk.Status) {
	var offers offersFor
	if !job.ownPools {
		if offers = p.inventory.offersFor(job); len(offers.offers) == 0 {
			return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, offers.why)
		}
	}
	build := func() (*evenkeelv1.PlanJobRequest, error) {
		return buildRequest(pod, job, offers.offers, p.args.InterNodeBytesPerSecond)
	}
	key, ask := job.identity+"\x00"+fmt.Sprint(job.pods, " ", job.podGPUs)+"\x00"+offers.key, planned(build, job)
	switch before := givenPlan(pod); {
	case planID != "":
		key, ask = planID+"\x00"+job.group, stored(planID, ask)
	case before != "":
		key, ask = before+"\x00"+job.group+"\x00"+key, given(before, job, ask)
	}
	known := p.lookup.get(key, pod, ask)
	switch {
	case known == nil:
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, waitingForAnswer)
	case known.misfit != "":
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the job does not fit: "+known.misfit)
	case known.refused != nil:
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "the planner refuses the job: "+text(known.refused))
	case known.unavailable != nil && (p.args.OnPlannerFailure == FailClosed || planID != ""):
		return nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "no plan, and the planner can not be asked: "+text(known.unavailable))
	}
	return known, nil
}

func text(err error) string { return strings.TrimPrefix(err.Error(), "evenkeel: ") }

// neighbours fills in the pod's place and where the pods around it are.
func (p *Plugin) neighbours(g *gang, found *cycle, pod *v1.Pod) (nearest string, err error) {
	job, chosen := found.job, found.chosen
	if found.place, err = g.next(pod, job); err != nil {
		return "", err
	}
	block := chosen.podsPerBlock(job.podGPUs)
	node, left := g.blockNode(found.place, block)
	found.node, found.needs = node, int64(left)*job.podGPUs
	found.beside, _ = g.blockNode(found.place, chosen.podsPerNode(job.podGPUs))
	if together := chosen.podsPerDomain(job.podGPUs); together > block && node == "" && p.args.DomainLabel != "" {
		begun := g.blockNodes(found.place, together)
		if found.domain = p.domainOfAny(begun); len(begun) == 0 {
			found.rest = together
		}
	}
	byRank, byStage := g.nearest(found.place, job.pods/chosen.stages, job.pods)
	found.nodes = p.inventory.topologies()
	if found.node == "" && len(found.nodes.distinct) > 1 {
		found.scores = found.nodes.scores(byRank, byStage, found.home)
		found.near = slices.Min(found.scores) != slices.Max(found.scores)
	}
	if len(byRank) > 0 {
		nearest = byRank[0]
	}
	return nearest, nil
}

// PreFilterExtensions returns nil: Filter looks at the node as it is given.
func (p *Plugin) PreFilterExtensions() fwk.PreFilterExtensions { return nil }

// Filter checks the plan's GPU type, the node or the scale-up domain that ranks of one group share, and room for the
// rest of them.
func (p *Plugin) Filter(_ context.Context, state fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) *fwk.Status {
	found := read(state)
	if found == nil || found.chosen == nil {
		return nil
	}
	node := info.Node()
	gpuType, product := p.types.nodeGPUs(node, p.args.GPUTypeLabels)
	if gpuType != found.chosen.gpuType {
		if product == "" {
			return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) had no label of a GPU type")
		}
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, "node(s) had other GPUs than the plan's "+found.chosen.gpuType)
	}
	if found.node != "" && node.Name != found.node {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			"node(s) were not the one that ranks of the same tensor-parallel group are on")
	}
	if why := p.wrongDomain(found, node); why != "" {
		return fwk.NewStatus(fwk.UnschedulableAndUnresolvable, why)
	}
	if found.needs > found.job.podGPUs && free(info, found.job.resource) < found.needs {
		return fwk.NewStatus(fwk.Unschedulable, fmt.Sprintf("node(s) had no %d free GPUs for ranks that share a node",
			found.needs))
	}
	return nil
}

func free(info fwk.NodeInfo, resource v1.ResourceName) int64 {
	return info.GetAllocatable().GetScalarResources()[resource] - info.GetRequested().GetScalarResources()[resource]
}

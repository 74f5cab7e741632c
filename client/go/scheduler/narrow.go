package scheduler

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	resourcehelper "k8s.io/component-helpers/resource"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

const (
	enoughNodes = 8   // candidates that a pod with a near neighbour is given
	sampleNodes = 100 // and any other; kube-scheduler itself never looks for fewer
	wideFor     = 10 * time.Minute
)

// narrow returns the nodes that kube-scheduler should look at, instead of at hundreds. nil: all of them.
//
// If a look at a node alone tells whether the pod fits, these are the nodes that Score would put first: the node that
// the plan puts the pod on with others of its job, or free ones in the narrowest domain of its neighbour by rank. If it
// does not, or no label tells domains apart, they are a sample of free nodes of all domains, the neighbour's above all,
// from which other plugins choose. If these accept none of them, PostFilter sees to it that the job's pods are shown
// all nodes from then on.
func (p *Plugin) narrow(ctx context.Context, pod *v1.Pod, found *cycle, neighbour string) sets.Set[string] {
	if found.node != "" {
		return nil
	}
	if _, failed := p.wide.Get(found.job.group); failed {
		return nil
	}
	fits, alone := p.fits(ctx, pod, found), simple(pod)
	names := sets.New[string]()
	if found.beside != "" && fits(found.beside) {
		if names.Insert(found.beside); alone {
			return names
		}
	}
	number, ok := found.nodes.of[neighbour]
	if !ok {
		return nil
	}
	near := labelled(found.nodes.distinct[number])
	if near {
		take(names, found.nodes.members[number], len(names)+enoughNodes, fits)
	}
	if !near || !alone {
		found.nodes.sample(names, found.place, fits)
	}
	if len(names) == 0 {
		return nil
	}
	return names
}

// take adds those of `from` that fit, until there are `many`, and returns the part of `from` that it did not look at.
func take(names sets.Set[string], from []string, many int, fits func(string) bool) []string {
	for len(from) > 0 && len(names) < many {
		if !names.Has(from[0]) && fits(from[0]) {
			names.Insert(from[0])
		}
		from = from[1:]
	}
	return from
}

// sample adds fitting nodes, one of each domain by turns, beginning with another domain for each pod.
func (t *topologies) sample(names sets.Set[string], begin int, fits func(string) bool) {
	left := make([][]string, len(t.members))
	for at := range left {
		left[at] = t.members[(begin+at)%len(t.members)]
	}
	for len(left) > 0 && len(names) < sampleNodes {
		some := left[:0]
		for _, members := range left {
			if len(names) == sampleNodes {
				return
			}
			if members = take(names, members, len(names)+1, fits); len(members) > 0 {
				some = append(some, members)
			}
		}
		left = some
	}
}

// simple says whether a look at a node alone tells whether the pod fits there.
func simple(pod *v1.Pod) bool {
	spec := &pod.Spec
	if len(spec.TopologySpreadConstraints) > 0 || len(spec.ResourceClaims) > 0 ||
		spec.Affinity != nil && (spec.Affinity.PodAffinity != nil || spec.Affinity.PodAntiAffinity != nil) {
		return false
	}
	for at := range spec.Volumes {
		if spec.Volumes[at].PersistentVolumeClaim != nil || spec.Volumes[at].Ephemeral != nil {
			return false
		}
	}
	return true
}

// portsFree says whether the host ports of the pod are free: trainers on the host's network take them.
func portsFree(info fwk.NodeInfo, pod *v1.Pod) bool {
	for at := range pod.Spec.Containers {
		for _, port := range pod.Spec.Containers[at].Ports {
			if port.HostPort != 0 && info.GetUsedPorts().CheckConflict(port.HostIP, string(port.Protocol), port.HostPort) {
				return false
			}
		}
	}
	return true
}

func labelled(at topology) bool {
	for _, number := range at {
		if number != 0 {
			return true
		}
	}
	return false
}

// fits tells whether a node has the plan's GPUs and room for the pod, and lets it in.
func (p *Plugin) fits(ctx context.Context, pod *v1.Pod, found *cycle) func(string) bool {
	lister := p.handle.SnapshotSharedLister().NodeInfos()
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	requests := resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{})
	logger := klog.FromContext(ctx)
	return func(name string) bool {
		info, err := lister.Get(name)
		if err != nil || info.Node() == nil {
			return false
		}
		gpuType, _ := p.types.nodeGPUs(info.Node(), p.args.GPUTypeLabels)
		return gpuType == found.chosen.gpuType && free(info, found.job.resource) >= found.needs &&
			letsIn(logger, info.Node(), pod, affinity) && hasRoom(info, requests) && portsFree(info, pod)
	}
}

// letsIn checks node selector, required node affinity, cordons and taints.
func letsIn(logger klog.Logger, node *v1.Node, pod *v1.Pod, affinity nodeaffinity.RequiredNodeAffinity) bool {
	if node.Spec.Unschedulable {
		return false
	}
	if matches, err := affinity.Match(node); err != nil || !matches {
		return false
	}
	if len(node.Spec.Taints) == 0 {
		return true
	}
	hard := func(taint *v1.Taint) bool {
		return taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute
	}
	_, untolerated := corehelpers.FindMatchingUntoleratedTaint(logger, node.Spec.Taints, pod.Spec.Tolerations, hard, false)
	return !untolerated
}

func hasRoom(info fwk.NodeInfo, requests v1.ResourceList) bool {
	has, used := info.GetAllocatable(), info.GetRequested()
	if len(info.GetPods()) >= has.GetAllowedPodNumber() {
		return false
	}
	for name, quantity := range requests {
		left := has.GetScalarResources()[name] - used.GetScalarResources()[name]
		wanted := quantity.Value()
		switch name {
		case v1.ResourceCPU:
			left, wanted = has.GetMilliCPU()-used.GetMilliCPU(), quantity.MilliValue()
		case v1.ResourceMemory:
			left = has.GetMemory() - used.GetMemory()
		case v1.ResourceEphemeralStorage:
			left = has.GetEphemeralStorage() - used.GetEphemeralStorage()
		}
		if wanted > left {
			return false
		}
	}
	return true
}

// PostFilter looks after pods that no node of a narrow choice took, for a reason that only another plugin knows: they are
// tried again at once, with all nodes, as are the others of the job, which would find the same. Success keeps preemption
// from making room on the few.
func (p *Plugin) PostFilter(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ fwk.NodeToStatusReader) (
	*fwk.PostFilterResult, *fwk.Status) {
	found := read(state)
	if found == nil || !found.narrowed {
		return nil, fwk.NewStatus(fwk.Unschedulable)
	}
	p.wide.Add(found.job.group, struct{}{}, wideFor)
	p.handle.Activate(klog.FromContext(ctx), map[string]*v1.Pod{pod.Namespace + "/" + pod.Name: pod})
	return nil, nil
}

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	corehelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// topology is a node's domains, widest first; "" where it has no such label.
type topology []string

// domain is one topology domain: the values of the first len labels. nil: none.
type domain topology

func (p *Plugin) topology(node *v1.Node) topology {
	made := make(topology, len(p.args.TopologyLabels))
	for at, key := range p.args.TopologyLabels {
		made[at] = node.Labels[key]
	}
	return made
}

func (p *Plugin) topologies(nodes []string) []topology {
	var made []topology
	for _, name := range nodes {
		if info, err := p.handle.SnapshotSharedLister().NodeInfos().Get(name); err == nil && info.Node() != nil {
			made = append(made, p.topology(info.Node()))
		}
	}
	return made
}

// shared is the share of levels, of those that either has, at which two nodes are in the same domain.
func shared(a, b topology) float64 {
	levels, same := 0, 0
	for at := range a {
		if a[at] == "" && b[at] == "" {
			continue
		}
		levels++
		if a[at] == b[at] {
			same++
		}
	}
	if levels == 0 {
		return 0
	}
	return float64(same) / float64(levels)
}

func nearness(node topology, others []topology) float64 {
	if len(others) == 0 {
		return 0
	}
	sum := 0.0
	for _, other := range others {
		sum += shared(node, other)
	}
	return sum / float64(len(others))
}

func (d domain) holds(node topology) bool {
	for at, value := range d {
		if value != node[at] {
			return false
		}
	}
	return len(d) > 0
}

// PreScore: pods without a plan are none of this plugin's business.
func (p *Plugin) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	if found := read(state); found == nil || found.chosen == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// Score: the node where the planner has the pod's ranks first, then nodes near the neighbours by rank and by stage, then
// the domain that holds the whole job.
func (p *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) (int64, *fwk.Status) {
	found := read(state)
	if found == nil || found.chosen == nil {
		return 0, nil
	}
	if found.beside == info.Node().Name {
		return fwk.MaxScore, nil
	}
	node := p.topology(info.Node())
	score := 35*nearness(node, found.byRank) + 25*nearness(node, found.byStage)
	if found.home.holds(node) {
		score += 20
	}
	// Ranks that will share a node want an empty one, the last of them a full one: fewer nodes are broken into.
	if wanted := int64(found.chosen.podsPerNode(found.job.podGPUs)) * found.job.podGPUs; wanted > found.job.podGPUs &&
		found.beside == "" && free(info, found.job.resource) >= wanted {
		score += 15
	}
	return int64(score), nil
}

// ScoreExtensions: scores are in range as they are.
func (p *Plugin) ScoreExtensions() fwk.ScoreExtensions { return nil }

// choose takes the best plan whose GPUs are free at present, or else the best that the pod could run by, and the
// narrowest topology domain with room for the whole job.
func (p *Plugin) choose(ctx context.Context, pod *v1.Pod, job *podJob, plans []layout) (*layout, domain, *fwk.Status) {
	affinity := nodeaffinity.GetRequiredNodeAffinity(pod)
	var fallback *layout
	for at := range plans {
		plan := &plans[at]
		places, room, nodes := p.room(ctx, pod, job, plan, affinity)
		if places >= job.pods {
			return plan, p.narrowest(room, job.pods), nil
		}
		if nodes > 0 && fallback == nil {
			fallback = plan
		}
	}
	if fallback == nil {
		return nil, nil, fwk.NewStatus(fwk.UnschedulableAndUnresolvable,
			"no node that the pod may go to has GPUs of a type that the job was planned for: "+plans[0].gpuType)
	}
	return fallback, nil, nil // not now; preemption or the gang plugin decide
}

// room counts free places for pods of the job, by the topology of their nodes, and nodes that the pod may go to.
func (p *Plugin) room(ctx context.Context, pod *v1.Pod, job *podJob, plan *layout,
	affinity nodeaffinity.RequiredNodeAffinity) (places int, room []nodeRoom, nodes int) {
	names, _ := p.inventory.nodesOf(plan.gpuType)
	lister := p.handle.SnapshotSharedLister().NodeInfos()
	block := int64(plan.podsPerBlock(job.podGPUs))
	logger := klog.FromContext(ctx)
	for name := range names {
		info, err := lister.Get(name)
		if err != nil || info.Node() == nil || info.Node().Spec.Unschedulable {
			continue
		}
		if matches, err := affinity.Match(info.Node()); err != nil || !matches {
			continue
		}
		if len(info.Node().Spec.Taints) > 0 {
			hard := func(taint *v1.Taint) bool {
				return taint.Effect == v1.TaintEffectNoSchedule || taint.Effect == v1.TaintEffectNoExecute
			}
			if _, untolerated := corehelpers.FindMatchingUntoleratedTaint(logger, info.Node().Spec.Taints,
				pod.Spec.Tolerations, hard, false); untolerated {
				continue
			}
		}
		nodes++
		if count := int(free(info, job.resource) / job.podGPUs / block * block); count > 0 {
			places += count
			room = append(room, nodeRoom{p.topology(info.Node()), count})
		}
	}
	return places, room, nodes
}

type nodeRoom struct {
	at     topology
	places int
}

// narrowest is the narrowest domain with so many places; of several the one with the fewest, so that larger ones stay
// whole. nil: no labelled domain has them.
func (p *Plugin) narrowest(room []nodeRoom, wanted int) domain {
	for depth := len(p.args.TopologyLabels); depth > 0; depth-- {
		sums, paths := map[string]int{}, map[string]domain{}
		for _, node := range room {
			if node.at[depth-1] == "" {
				continue
			}
			path := domain(node.at[:depth])
			key := joined(path)
			sums[key] += node.places
			paths[key] = path
		}
		best := ""
		for key, sum := range sums {
			if sum >= wanted && (best == "" || sum < sums[best] || sum == sums[best] && key < best) {
				best = key
			}
		}
		if best != "" {
			return paths[best]
		}
	}
	return nil
}

func joined(path domain) string {
	key := ""
	for _, value := range path {
		key += value + "\x00"
	}
	return key
}

package scheduler

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// topology is a node's domains by number, widest first; 0 where it has no such label.
type topology []int32

// domain is one topology domain: the numbers of it and of those around it. nil: none.
type domain = topology

// scores returns 0 to 80 for each of the distinct topologies: near the nodes of the neighbours by rank and by stage,
// and in the domain that holds the whole job.
func (t *topologies) scores(byRank, byStage []string, home domain) []int64 {
	made := make([]int64, len(t.distinct))
	for at, node := range t.distinct {
		score := 35*t.nearness(node, byRank) + 25*t.nearness(node, byStage)
		if holds(home, node) {
			score += 20
		}
		made[at] = int64(score)
	}
	return made
}

// shared returns the share of levels, of those that either node has, at which two nodes are in the same domain.
func shared(a, b topology) float64 {
	if len(a) != len(b) {
		return 0 // a node that is not known yet
	}
	levels, same := 0, 0
	for at := range a {
		if a[at] == 0 && b[at] == 0 {
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

// nearness returns the mean of shared over the other nodes.
func (t *topologies) nearness(node topology, others []string) float64 {
	sum := 0.0
	for _, other := range others {
		sum += shared(node, t.at(other))
	}
	return sum / float64(max(len(others), 1))
}

func holds(d domain, node topology) bool {
	if len(node) < len(d) {
		return false
	}
	for at, value := range d {
		if value != node[at] {
			return false
		}
	}
	return len(d) > 0
}

// PreScore skips pods without a plan, which are none of this plugin's business.
func (p *Plugin) PreScore(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ []fwk.NodeInfo) *fwk.Status {
	found := read(state)
	if found == nil || found.chosen == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	if !found.near && !found.shares() { // nothing tells the nodes apart
		return fwk.NewStatus(fwk.Skip)
	}
	return nil
}

// shares says whether the planner put several pods on one node.
func (c *cycle) shares() bool { return c.chosen.podsPerNode(c.job.podGPUs) > 1 }

// Score prefers the node where the planner has the pod's ranks, then nodes near the neighbours by rank and by stage,
// then the domain that holds the whole job.
func (p *Plugin) Score(_ context.Context, state fwk.CycleState, _ *v1.Pod, info fwk.NodeInfo) (int64, *fwk.Status) {
	found := read(state)
	if found == nil || found.chosen == nil {
		return 0, nil
	}
	if found.beside == info.Node().Name {
		return fwk.MaxScore, nil
	}
	score := int64(0)
	if number, ok := found.nodes.of[info.Node().Name]; ok && found.near {
		score = found.scores[number]
	}
	// Ranks that will share a node want an empty one, the last of them a full one: fewer nodes are broken into.
	if found.shares() && found.beside == "" &&
		free(info, found.job.resource) >= int64(found.chosen.podsPerNode(found.job.podGPUs))*found.job.podGPUs {
		score += 15
	}
	return score, nil
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
	lister, all := p.handle.SnapshotSharedLister().NodeInfos(), p.inventory.topologies()
	block := int64(plan.podsPerBlock(job.podGPUs))
	logger := klog.FromContext(ctx)
	for name := range names {
		info, err := lister.Get(name)
		if err != nil || info.Node() == nil || !letsIn(logger, info.Node(), pod, affinity) {
			continue
		}
		nodes++
		if count := int(free(info, job.resource) / job.podGPUs / block * block); count > 0 {
			places += count
			room = append(room, nodeRoom{all.at(name), count})
		}
	}
	return places, room, nodes
}

type nodeRoom struct {
	at     topology
	places int
}

// narrowest returns the narrowest domain with this many places; of several, the one with the fewest, so that larger
// ones stay whole. nil: no labelled domain has them.
func (p *Plugin) narrowest(room []nodeRoom, wanted int) domain {
	for depth := len(p.args.TopologyLabels); depth > 0; depth-- {
		sums, paths := map[int32]int{}, map[int32]domain{}
		for _, node := range room {
			if len(node.at) >= depth && node.at[depth-1] != 0 {
				sums[node.at[depth-1]] += node.places
				paths[node.at[depth-1]] = node.at[:depth]
			}
		}
		best := int32(0)
		for number, sum := range sums {
			if sum >= wanted && (best == 0 || sum < sums[best] || sum == sums[best] && number < best) {
				best = number
			}
		}
		if best != 0 {
			return paths[best]
		}
	}
	return nil
}

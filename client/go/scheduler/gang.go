package scheduler

import (
	"fmt"
	"strconv"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/client/go/annotations"
)

// gang is a group of pods that share a plan: which of them has which place. A place is as many consecutive ranks as a
// pod has GPUs.
type gang struct {
	members map[types.UID]member
	places  map[int]place
	lowest  int // no place below is free

	// All pods of the gang go by these, from the first that got a node until the last is gone.
	pinned   *layout
	planID   string // of `pinned`; set without it after a restart, until the plan is read again
	planless bool   // the gang runs without a plan
	home     domain // topology domain that the gang began in
	podGPUs  int64  // GPUs of each pod
}

type member struct {
	place int // -1: none, the gang runs without a plan
	node  string
}

type place struct {
	pod  types.UID
	node string
}

// gangs holds all gangs by name.
type gangs struct {
	mu    sync.Mutex
	known map[string]*gang
}

// with calls f with the gang of that name; one without members is forgotten afterwards.
func (g *gangs) with(name string, f func(*gang)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := g.known[name]
	if found == nil {
		found = &gang{members: map[types.UID]member{}, places: map[int]place{}}
	}
	f(found)
	if len(found.members) == 0 {
		delete(g.known, name)
	} else {
		g.known[name] = found
	}
}

// begun says whether pods of the gang run, by a plan or without one.
func (g *gangs) begun(name string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	found := g.known[name]
	return found != nil && (found.planID != "" || found.planless)
}

// each calls f with every gang.
func (g *gangs) each(f func(*gang)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, known := range g.known {
		f(known)
	}
}

// next returns the place for a pod: what its index says, or the lowest that is free.
func (g *gang) next(pod *v1.Pod, job *podJob) (int, error) {
	if known, ok := g.members[pod.UID]; ok && known.place >= 0 {
		return known.place, nil
	}
	if job.index >= 0 {
		if job.index >= job.pods {
			return 0, fmt.Errorf("the pod has index %d, but the job has %d pods", job.index, job.pods)
		}
		if taken, ok := g.places[job.index]; ok {
			return 0, fmt.Errorf("rank %d is taken by another pod of index %d (%s)", job.index*int(job.podGPUs), job.index,
				taken.pod)
		}
		return job.index, nil
	}
	for g.lowest < job.pods {
		if _, taken := g.places[g.lowest]; !taken {
			return g.lowest, nil
		}
		g.lowest++
	}
	return 0, fmt.Errorf("all %d places of the job are taken", job.pods)
}

// add gives a pod its place. `chosen` is nil for a pod without a plan.
func (g *gang) add(uid types.UID, at int, node string, chosen *layout) error {
	if chosen == nil {
		g.members[uid] = member{place: -1, node: node}
		g.planless = true
		return nil
	}
	if g.planless {
		return fmt.Errorf("other pods of the job run without a plan")
	}
	if g.planID != "" && g.planID != chosen.planID {
		return fmt.Errorf("other pods of the job run by another plan, %s", g.planID)
	}
	if taken, ok := g.places[at]; ok && taken.pod != uid {
		return fmt.Errorf("place %d was taken meanwhile", at)
	}
	g.members[uid] = member{place: at, node: node}
	g.places[at] = place{uid, node}
	g.pinned, g.planID = chosen, chosen.planID
	return nil
}

// restore takes in a pod that was bound before this scheduler started, or by another.
func (g *gang) restore(pod *v1.Pod, podGPUs int64) {
	if _, known := g.members[pod.UID]; known {
		return
	}
	rank, err := strconv.Atoi(pod.Annotations[annotations.Rank])
	if id := pod.Annotations[annotations.Plan]; id != "" && err == nil && rank >= 0 && podGPUs > 0 {
		at := rank / int(podGPUs)
		g.members[pod.UID] = member{place: at, node: pod.Spec.NodeName}
		g.places[at] = place{pod.UID, pod.Spec.NodeName}
		g.podGPUs = podGPUs
		if g.planID == "" {
			g.planID = id
		}
		return
	}
	g.members[pod.UID] = member{place: -1, node: pod.Spec.NodeName}
	g.planless = g.planID == ""
}

// remove frees the pod's place; the last one leaves a gang that may be planned again.
func (g *gang) remove(uid types.UID) {
	gone, ok := g.members[uid]
	if !ok {
		return
	}
	delete(g.members, uid)
	if g.places[gone.place].pod == uid {
		delete(g.places, gone.place)
		g.lowest = min(g.lowest, gone.place)
	}
	if len(g.members) == 0 {
		*g = gang{members: g.members, places: g.places}
	}
}

// blockNode returns the node that pods of the same block of places have, and how many of the block have none yet.
func (g *gang) blockNode(at, blockPods int) (node string, left int) {
	first := at / blockPods * blockPods
	left = blockPods
	for other := first; other < first+blockPods; other++ {
		if taken, ok := g.places[other]; ok && other != at {
			node = taken.node
			left--
		}
	}
	return node, left
}

// blockNodes returns the nodes of the pods of the same block of places, in the order of places.
func (g *gang) blockNodes(at, blockPods int) (nodes []string) {
	first := at / blockPods * blockPods
	for other := first; other < first+blockPods; other++ {
		if taken, ok := g.places[other]; ok {
			nodes = append(nodes, taken.node)
		}
	}
	return nodes
}

// nearest returns the nodes of the places nearest to this one: by rank on either side, and in the stages before and
// after.
func (g *gang) nearest(at, perStage, pods int) (byRank, byStage []string) {
	const far = 64 // neighbours further away say nothing about the network
	for distance := 1; distance <= far && byRank == nil; distance++ {
		for _, other := range []int{at - distance, at + distance} {
			if taken, ok := g.places[other]; ok {
				byRank = append(byRank, taken.node)
			}
		}
	}
	if perStage > 0 && perStage < pods {
		for _, other := range []int{at - perStage, at + perStage} {
			if taken, ok := g.places[other]; ok {
				byStage = append(byStage, taken.node)
			}
		}
	}
	return byRank, byStage
}

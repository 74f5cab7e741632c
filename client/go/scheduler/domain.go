package scheduler

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// domainOf returns the scale-up domain that a node's label names; "": none.
func (p *Plugin) domainOf(node *v1.Node) string { return node.Labels[p.args.DomainLabel] }

// domainOfAny returns the scale-up domain of the first of these nodes that is in one, or "" if none is.
func (p *Plugin) domainOfAny(names []string) string {
	lister := p.handle.SnapshotSharedLister().NodeInfos()
	for _, name := range names {
		if info, err := lister.Get(name); err == nil && info.Node() != nil && p.domainOf(info.Node()) != "" {
			return p.domainOf(info.Node())
		}
	}
	return ""
}

// domainRoom counts the places for pods of the job in each scale-up domain, without those that groups which began there
// still need. nil: no node of the plan's GPU type tells its domain.
func (p *Plugin) domainRoom(ctx context.Context, pod *v1.Pod, found *cycle) map[string]int {
	lister, fits, podGPUs := p.handle.SnapshotSharedLister().NodeInfos(), p.fits(ctx, pod, found), found.job.podGPUs
	names, _ := p.inventory.nodesOf(found.chosen.gpuType)
	room, told := map[string]int{}, false
	for name := range names {
		info, err := lister.Get(name)
		if err != nil || info.Node() == nil || p.domainOf(info.Node()) == "" {
			continue
		}
		told = true
		if fits(name) { // ranks that share a node need it whole
			room[p.domainOf(info.Node())] += int(free(info, found.job.resource) / found.needs * found.needs / podGPUs)
		}
	}
	if !told {
		return nil
	}
	for domain, gpus := range p.promised() {
		room[domain] -= int((gpus + podGPUs - 1) / podGPUs)
	}
	return room
}

// promised returns how many GPUs of each scale-up domain are left to groups of ranks that are already partly there.
func (p *Plugin) promised() map[string]int64 {
	type begun struct {
		nodes []string
		gpus  int64 // that its other ranks need
	}
	var all []begun
	p.gangs.each(func(g *gang) {
		if g.pinned == nil || g.podGPUs == 0 {
			return
		}
		together := g.pinned.podsPerDomain(g.podGPUs)
		blocks := map[int]bool{}
		for at := range g.places {
			if first := at / together * together; together > 1 && !blocks[first] {
				blocks[first] = true
				nodes := g.blockNodes(first, together)
				all = append(all, begun{nodes, int64(together-len(nodes)) * g.podGPUs})
			}
		}
	})
	gpus := map[string]int64{}
	for _, group := range all {
		if domain := p.domainOfAny(group.nodes); domain != "" {
			gpus[domain] += group.gpus
		}
	}
	return gpus
}

// wrongDomain says why a pod of ranks that must share a scale-up domain can not go to a node; "": it can.
func (p *Plugin) wrongDomain(found *cycle, node *v1.Node) string {
	domain := p.domainOf(node)
	switch {
	case found.domain != "" && domain != found.domain:
		return "node(s) were not in the scale-up domain that ranks of the same group are in"
	case found.room != nil && domain == "":
		return "node(s) had no label " + p.args.DomainLabel + ", which names the scale-up domain that ranks must share"
	case found.room != nil && found.room[domain] < found.rest:
		return fmt.Sprintf("node(s) were in scale-up domains without room for %d pods that must share one", found.rest)
	}
	return ""
}

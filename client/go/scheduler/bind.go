package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"

	"evenkeel.dev/client/go/annotations"
)

// bindsItself says whether this profile asks this plugin first to bind, so that annotations travel with the binding. The
// handle knows once the profile is complete, which it is not when the plugin is made.
func (p *Plugin) bindsItself() bool {
	p.bindsOnce.Do(func() {
		profile, ok := p.handle.(interface{ ListPlugins() *config.Plugins })
		if !ok {
			return
		}
		enabled := profile.ListPlugins().Bind.Enabled
		p.binds = len(enabled) > 0 && enabled[0].Name == Name
		if !p.binds {
			klog.Background().Info("Another plugin binds before Evenkeel: plans are written to pods by a patch of its own, which "+
				"costs a second write per pod and needs the right to patch pods; enable Evenkeel under bind to spare both",
				"profile", p.handle.ProfileName())
		}
	})
	return p.binds
}

// Reserve takes the pod's place: from here on the gang goes by this plan.
func (p *Plugin) Reserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	found := read(state)
	if found == nil {
		return nil
	}
	var err error
	p.gangs.with(found.job.group, func(g *gang) {
		if err = g.add(pod.UID, found.place, nodeName, found.chosen); err != nil {
			return
		}
		if g.podGPUs = found.job.podGPUs; g.home == nil {
			g.home = found.home
		}
	})
	if err != nil {
		return fwk.NewStatus(fwk.Unschedulable, err.Error())
	}
	return nil
}

// Unreserve gives the place back.
func (p *Plugin) Unreserve(_ context.Context, state fwk.CycleState, pod *v1.Pod, _ string) {
	if found := read(state); found != nil {
		p.gangs.with(found.job.group, func(g *gang) { g.remove(pod.UID) })
	}
}

// annotations are what the pod learns of its plan.
func (c *cycle) annotations() map[string]string {
	rank := c.place * int(c.job.podGPUs)
	return map[string]string{
		annotations.Plan:  c.chosen.planID,
		annotations.Stage: c.chosen.stage(rank, int(c.job.podGPUs)),
		annotations.Rank:  strconv.Itoa(rank),
	}
}

// PreBindPreFlight: there is nothing to do before binding where Bind writes the annotations.
func (p *Plugin) PreBindPreFlight(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string) (
	*fwk.PreBindPreFlightResult, *fwk.Status) {
	if found := read(state); found == nil || found.chosen == nil || p.bindsItself() {
		return nil, fwk.NewStatus(fwk.Skip)
	}
	return &fwk.PreBindPreFlightResult{AllowParallel: true}, nil
}

// PreBind patches the annotations, for profiles in which another plugin binds.
func (p *Plugin) PreBind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, _ string) *fwk.Status {
	found := read(state)
	if found == nil || found.chosen == nil {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": found.annotations(),
		"uid": pod.UID}})
	if err != nil {
		return fwk.AsStatus(err)
	}
	_, err = p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType, patch,
		metav1.PatchOptions{})
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("writing the plan's annotations: %w", err))
	}
	return nil
}

// Bind binds pods with a plan: the API server copies a binding's annotations to its pod, so that node and rank arrive in
// one write, and never one without the other. Other pods are left to the next binder.
func (p *Plugin) Bind(ctx context.Context, state fwk.CycleState, pod *v1.Pod, nodeName string) *fwk.Status {
	found := read(state)
	if found == nil || found.chosen == nil {
		return fwk.NewStatus(fwk.Skip)
	}
	binding := &v1.Binding{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
			Annotations: found.annotations()},
		Target: v1.ObjectReference{Kind: "Node", Name: nodeName},
	}
	var err error
	if cacher := p.handle.APICacher(); cacher != nil {
		var finished <-chan error
		if finished, err = cacher.BindPod(binding); err == nil {
			err = cacher.WaitOnFinish(ctx, finished)
		}
	} else {
		err = p.handle.ClientSet().CoreV1().Pods(pod.Namespace).Bind(ctx, binding, metav1.CreateOptions{})
	}
	if err != nil {
		return fwk.AsStatus(fmt.Errorf("binding: %w", err))
	}
	return nil
}

// PostBind counts.
func (p *Plugin) PostBind(_ context.Context, state fwk.CycleState, _ *v1.Pod, _ string) {
	switch found := read(state); {
	case found == nil:
	case found.chosen == nil:
		metricPods.WithLabelValues("unplanned").Inc()
	default:
		metricPods.WithLabelValues("planned").Inc()
	}
}

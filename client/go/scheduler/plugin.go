package scheduler

import (
	"context"
	"fmt"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	listers "k8s.io/client-go/listers/scheduling/v1alpha2"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeel"
)

// Name of the plugin in KubeSchedulerConfiguration.
const Name = "Evenkeel"

// Plugin is the scheduler plugin. One per profile.
type Plugin struct {
	args       *Args
	handle     fwk.Handle
	types      *gpuTypes
	inventory  *inventory
	lookup     *lookup
	gangs      gangs
	wide       *utilcache.LRUExpireCache // jobs whose narrow choice of nodes failed
	podGroups  listers.PodGroupLister    // nil where the cluster has no PodGroups of its own
	groups     cache.GenericLister       // PodGroups of the coscheduling plugin; nil where the cluster has none
	configMaps *configMaps
	bindsOnce  sync.Once
	binds      bool
}

var (
	_ fwk.PreFilterPlugin   = &Plugin{}
	_ fwk.FilterPlugin      = &Plugin{}
	_ fwk.PostFilterPlugin  = &Plugin{}
	_ fwk.PreScorePlugin    = &Plugin{}
	_ fwk.ScorePlugin       = &Plugin{}
	_ fwk.ReservePlugin     = &Plugin{}
	_ fwk.PreBindPlugin     = &Plugin{}
	_ fwk.BindPlugin        = &Plugin{}
	_ fwk.PostBindPlugin    = &Plugin{}
	_ fwk.EnqueueExtensions = &Plugin{}
	_ fwk.SignPlugin        = &Plugin{}
)

// New makes the plugin of a profile, for app.WithPlugin(Name, New).
func New(ctx context.Context, configuration runtime.Object, handle fwk.Handle) (fwk.Plugin, error) {
	args, err := parseArgs(configuration)
	if err != nil {
		return nil, err
	}
	client, err := evenkeel.New(args.client())
	if err != nil {
		return nil, fmt.Errorf("pluginConfig of %s: %w", Name, err)
	}
	context.AfterFunc(ctx, func() { _ = client.Close() })
	return newPlugin(ctx, args, handle, client)
}

func newPlugin(ctx context.Context, args *Args, handle fwk.Handle, planner planner) (*Plugin, error) {
	registerMetrics()
	gpuTypes, err := newGPUTypes(args.GPUTypes)
	if err != nil {
		return nil, err
	}
	logger := klog.FromContext(ctx).WithName(Name)
	made := &Plugin{args: args, handle: handle, types: gpuTypes, inventory: newInventory(gpuTypes, args),
		gangs: gangs{known: map[string]*gang{}}, wide: utilcache.NewLRUExpireCache(4096)}
	made.lookup = newLookup(ctx, args, planner, func(pods map[string]*v1.Pod) { handle.Activate(logger, pods) })
	if gate := featuregate.Feature("GenericWorkload"); enabled(gate) {
		made.podGroups = handle.SharedInformerFactory().Scheduling().V1alpha2().PodGroups().Lister()
	}
	client, err := dynamicClient(handle)
	if err != nil {
		return nil, err
	}
	if client != nil {
		if err := made.followGroups(ctx, client); err != nil {
			return nil, err
		}
	}
	made.followConfigMaps(ctx)
	return made, made.watch(logger)
}

// enabled asks a feature gate of the scheduler that this plugin is built into.
func enabled(gate featuregate.Feature) bool {
	_, known := utilfeature.DefaultMutableFeatureGate.GetAll()[gate]
	return known && utilfeature.DefaultFeatureGate.Enabled(gate)
}

// Name returns "Evenkeel".
func (p *Plugin) Name() string { return Name }

// watch follows nodes, and pods that were bound, ended, or changed what they say.
func (p *Plugin) watch(logger klog.Logger) error {
	core := p.handle.SharedInformerFactory().Core().V1()
	_, err := core.Nodes().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { p.inventory.update(object.(*v1.Node), false) },
		UpdateFunc: func(_, object any) { p.inventory.update(object.(*v1.Node), false) },
		DeleteFunc: func(object any) {
			if node, ok := last(object).(*v1.Node); ok {
				p.inventory.update(node, true)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching nodes: %w", err)
	}
	_, err = core.Pods().Informer().AddEventHandler(cache.FilteringResourceEventHandler{
		FilterFunc: func(object any) bool {
			pod, ok := last(object).(*v1.Pod)
			return ok && wantsPlan(pod)
		},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { p.observe(object.(*v1.Pod), false) },
			UpdateFunc: func(before, object any) {
				pod := object.(*v1.Pod)
				p.observe(pod, false)
				if pod.Spec.NodeName == "" && saysOther(before.(*v1.Pod), pod) {
					p.handle.Activate(logger, map[string]*v1.Pod{pod.Namespace + "/" + pod.Name: pod})
				}
			},
			DeleteFunc: func(object any) { p.observe(last(object).(*v1.Pod), true) },
		},
	})
	if err != nil {
		return fmt.Errorf("watching pods: %w", err)
	}
	return nil
}

func last(object any) any {
	if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return object
}

func saysOther(before, after *v1.Pod) bool {
	for _, key := range []string{annotations.Model, annotations.DatasetRef, annotations.Job, annotations.JobConfigMap,
		annotations.SpecHash, annotations.Group, annotations.Pods, annotations.GPUType} {
		if value(before, key) != value(after, key) {
			return true
		}
	}
	return false
}

// observe keeps the gangs current with pods that this plugin did not place just now.
func (p *Plugin) observe(pod *v1.Pod, gone bool) {
	ended := gone || pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed
	if !ended && pod.Spec.NodeName == "" {
		return
	}
	p.gangs.with(groupOf(pod), func(g *gang) {
		if ended {
			g.remove(pod.UID)
			return
		}
		var count int64
		for _, name := range p.args.GPUResources {
			if count = requested(pod, v1.ResourceName(name)); count > 0 {
				break
			}
		}
		g.restore(pod, count)
	})
}

// EventsToRegister returns the events that may make a pod schedulable that this plugin refused; answers of the planner
// bring their pods back themselves.
func (p *Plugin) EventsToRegister(context.Context) ([]fwk.ClusterEventWithHint, error) {
	return []fwk.ClusterEventWithHint{
		{Event: fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add | fwk.UpdateNodeLabel | fwk.UpdateNodeAllocatable |
			fwk.UpdateNodeTaint}, QueueingHintFn: p.afterNodeChange},
		{Event: fwk.ClusterEvent{Resource: fwk.Pod, ActionType: fwk.Delete}, QueueingHintFn: p.afterPodDeletion},
	}, nil
}

func (p *Plugin) afterNodeChange(_ klog.Logger, _ *v1.Pod, _, after any) (fwk.QueueingHint, error) {
	node, ok := after.(*v1.Node)
	if !ok {
		return fwk.Queue, fmt.Errorf("a node event carries %T", after)
	}
	if gpuType, _ := p.types.nodeGPUs(node, p.args.GPUTypeLabels); gpuType == "" {
		return fwk.QueueSkip, nil
	}
	return fwk.Queue, nil
}

func (p *Plugin) afterPodDeletion(_ klog.Logger, pod *v1.Pod, before, _ any) (fwk.QueueingHint, error) {
	gone, ok := before.(*v1.Pod)
	if !ok {
		return fwk.Queue, fmt.Errorf("a pod event carries %T", before)
	}
	if groupOf(gone) == groupOf(pod) {
		return fwk.Queue, nil
	}
	for _, name := range p.args.GPUResources {
		if gone.Spec.NodeName != "" && requested(gone, v1.ResourceName(name)) > 0 {
			return fwk.Queue, nil
		}
	}
	return fwk.QueueSkip, nil
}

// SignPod signs pods without a plan, to which this plugin makes no difference. Pods with a plan differ by rank, so no
// result of one can be used for another.
func (p *Plugin) SignPod(_ context.Context, pod *v1.Pod) ([]fwk.SignFragment, *fwk.Status) {
	if wantsPlan(pod) {
		return nil, fwk.NewStatus(fwk.Unschedulable, "pods with a plan differ by rank")
	}
	return nil, nil
}

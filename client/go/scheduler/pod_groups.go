package scheduler

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
)

// coschedulingGroups are the PodGroups of the coscheduling plugin (sigs.k8s.io/scheduler-plugins), which pods name by a
// label. Nothing of that plugin but their `spec.minMember` is needed here.
var coschedulingGroups = schema.GroupVersionResource{Group: "scheduling.x-k8s.io", Version: "v1alpha1", Resource: "podgroups"}

// dynamicClient returns a client of PodGroups, nil where the API server has no such resource.
func dynamicClient(handle fwk.Handle) (dynamic.Interface, error) {
	version := coschedulingGroups.GroupVersion().String()
	list, err := handle.ClientSet().Discovery().ServerResourcesForGroupVersion(version)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", version, err)
	}
	for _, resource := range list.APIResources {
		if resource.Name == coschedulingGroups.Resource {
			return dynamic.NewForConfig(handle.KubeConfig())
		}
	}
	return nil, nil
}

// followGroups follows PodGroups until the context ends, and brings their pods back when one comes or changes.
func (p *Plugin) followGroups(ctx context.Context, client dynamic.Interface) error {
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	groups := factory.ForResource(coschedulingGroups)
	pods := p.handle.SharedInformerFactory().Core().V1().Pods().Lister()
	logger := klog.FromContext(ctx).WithName(Name)
	bringBack := func(object any) {
		if group, ok := object.(*unstructured.Unstructured); ok {
			p.handle.Activate(logger, unboundPods(pods, group.GetNamespace(), group.GetName()))
		}
	}
	_, err := groups.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: bringBack,
		UpdateFunc: func(before, after any) {
			if minMember(before) != minMember(after) {
				bringBack(after)
			}
		},
	})
	if err != nil {
		return fmt.Errorf("watching PodGroups: %w", err)
	}
	p.groups = groups.Lister()
	factory.Start(ctx.Done())
	return nil
}

func unboundPods(lister corelisters.PodLister, namespace, group string) map[string]*v1.Pod {
	found, err := lister.Pods(namespace).List(labels.SelectorFromSet(labels.Set{podGroupLabel: group}))
	unbound := map[string]*v1.Pod{}
	if err != nil {
		return unbound
	}
	for _, pod := range found {
		if pod.Spec.NodeName == "" && wantsPlan(pod) {
			unbound[pod.Namespace+"/"+pod.Name] = pod
		}
	}
	return unbound
}

func minMember(object any) int64 {
	group, ok := object.(*unstructured.Unstructured)
	if !ok {
		return 0
	}
	count, _, _ := unstructured.NestedInt64(group.Object, "spec", "minMember")
	return count
}

// gangSize returns what the pod's PodGroup says, in-tree or of the coscheduling plugin; 0: it has none.
func (p *Plugin) gangSize(pod *v1.Pod) (int, error) {
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return p.inTreeGangSize(pod.Namespace, *group.PodGroupName)
	}
	name := pod.Labels[podGroupLabel]
	if p.groups == nil || name == "" {
		return 0, nil
	}
	group, err := p.groups.ByNamespace(pod.Namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("PodGroup %s: %w", name, err)
	}
	return int(minMember(group)), nil
}

func (p *Plugin) inTreeGangSize(namespace, name string) (int, error) {
	if p.podGroups == nil {
		return 0, nil
	}
	group, err := p.podGroups.PodGroups(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("PodGroup %s: %w", name, err)
	}
	if gang := group.Spec.SchedulingPolicy.Gang; gang != nil {
		return int(gang.MinCount), nil
	}
	return 0, nil
}

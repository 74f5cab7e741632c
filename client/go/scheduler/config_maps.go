package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"evenkeel.dev/client/go/annotations"
)

// configMaps follows the ConfigMaps that hold jobs, by their label. It begins with the first pod that names one: a
// cluster without such pods needs no right to read them.
type configMaps struct {
	client  kubernetes.Interface
	done    context.Context              // ends with the scheduler
	come    func(namespace, name string) // brings pods of a ConfigMap back; of any if the name is ""
	altered func(was, is *v1.ConfigMap)  // tells of a change that comes too late for some

	once    sync.Once
	broken  error // of the start
	factory informers.SharedInformerFactory
	synced  func() bool

	mu      sync.Mutex
	failure error // of the last try to read them
}

// get returns the data of a ConfigMap, and false where there is none. It never waits.
func (c *configMaps) get(namespace, name string) (map[string]string, bool, error) {
	c.once.Do(func() { c.broken = c.start() })
	if c.broken != nil {
		return nil, false, c.broken
	}
	if !c.synced() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.failure != nil {
			return nil, false, fmt.Errorf("this scheduler can not read ConfigMaps: %w", c.failure)
		}
		return nil, false, errors.New("waiting for the API server's ConfigMaps")
	}
	found, err := c.factory.Core().V1().ConfigMaps().Lister().ConfigMaps(namespace).Get(name)
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return found.Data, true, nil
}

func (c *configMaps) start() error {
	c.factory = informers.NewSharedInformerFactoryWithOptions(c.client, 0,
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = annotations.JobConfigMap }))
	informer := c.factory.Core().V1().ConfigMaps().Informer()
	c.synced = informer.HasSynced
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, reflector *cache.Reflector, err error) {
		cache.DefaultWatchErrorHandler(ctx, reflector, err)
		c.mu.Lock()
		changed := c.failure == nil || c.failure.Error() != err.Error()
		c.failure = err
		c.mu.Unlock()
		if changed && !informer.HasSynced() {
			c.come("", "") // they now learn why they wait
		}
	})
	if err != nil {
		return err
	}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if made := object.(*v1.ConfigMap); !initial {
				c.come(made.Namespace, made.Name)
			}
		},
		UpdateFunc: func(before, object any) {
			if was, is := before.(*v1.ConfigMap), object.(*v1.ConfigMap); !maps.Equal(was.Data, is.Data) {
				c.altered(was, is)
				c.come(is.Namespace, is.Name)
			}
		},
		DeleteFunc: func(object any) {
			if gone, ok := last(object).(*v1.ConfigMap); ok {
				c.come(gone.Namespace, gone.Name)
			}
		},
	})
	if err != nil {
		return err
	}
	c.factory.Start(c.done.Done())
	go func() {
		if cache.WaitForCacheSync(c.done.Done(), informer.HasSynced) {
			c.come("", "")
		}
	}()
	return nil
}

// followConfigMaps lets pods name ConfigMaps.
func (p *Plugin) followConfigMaps(ctx context.Context) {
	logger := klog.FromContext(ctx).WithName(Name)
	p.configMaps = &configMaps{client: p.handle.ClientSet(), done: ctx,
		come: func(namespace, name string) {
			waiting := map[string]*v1.Pod{}
			for _, pod := range p.podsOf(namespace, name) {
				if pod.Spec.NodeName == "" {
					waiting[pod.Namespace+"/"+pod.Name] = pod
				}
			}
			p.handle.Activate(logger, waiting)
		},
		altered: p.tellLateChange}
}

// podsOf returns the pods that name a ConfigMap: this one, or any if the name is "".
func (p *Plugin) podsOf(namespace, name string) (pods []*v1.Pod) {
	all, err := p.handle.SharedInformerFactory().Core().V1().Pods().Lister().Pods(namespace).List(labels.Everything())
	if err != nil {
		return nil
	}
	for _, pod := range all {
		if named := annotations.ConfigMapOf(pod.Annotations); named != "" && (name == "" || named == name) {
			pods = append(pods, pod)
		}
	}
	return pods
}

// tellLateChange leaves an event with a ConfigMap whose jobs have begun: they keep their plans.
func (p *Plugin) tellLateChange(before, after *v1.ConfigMap) {
	begun := map[string]bool{}
	for _, pod := range p.podsOf(after.Namespace, after.Name) {
		if annotations.SameJob(pod.Annotations, before.Data, after.Data) {
			continue
		}
		if group := groupOf(pod); pod.Spec.NodeName != "" && p.gangs.begun(group) {
			begun[group] = true
		}
	}
	if len(begun) > 0 {
		p.handle.EventRecorder().Eventf(after, nil, v1.EventTypeWarning, "JobHasBegun", "Planning",
			"running jobs keep the plans that were made from the former text of this ConfigMap: %d; each is planned anew once all "+
				"its pods are gone",
			len(begun))
	}
}

// described returns the pod with the job that its ConfigMap holds, if it names one. A job that has begun or was given a
// plan keeps it, whatever has become of the ConfigMap.
func (p *Plugin) described(pod *v1.Pod) (*v1.Pod, error) {
	if _, ok := pod.Annotations[annotations.JobConfigMap]; !ok {
		return pod, nil
	}
	resolved, err := annotations.Resolve(pod.Annotations, pod.Namespace, func(name string) (map[string]string, bool, error) {
		return p.configMaps.get(pod.Namespace, name)
	})
	if err != nil {
		if p.gangs.begun(groupOf(pod)) || givenPlan(pod) != "" {
			return pod, nil
		}
		return nil, err
	}
	full := *pod
	full.Annotations = resolved
	return &full, nil
}

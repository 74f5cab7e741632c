package scheduler

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeelv1"
)

// fakePlanner answers with `answer`, after `delay`, and counts calls.
type fakePlanner struct {
	mu       sync.Mutex
	requests []*evenkeelv1.PlanJobRequest
	gets     int
	delay    time.Duration
	answer   func(*evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error)
	stored   func(string) (*evenkeelv1.GetPlanResponse, error)
}

func (f *fakePlanner) PlanJob(ctx context.Context, request *evenkeelv1.PlanJobRequest, _ ...grpc.CallOption) (
	*evenkeelv1.PlanJobResponse, error) {
	f.mu.Lock()
	f.requests = append(f.requests, request)
	answer := f.answer
	f.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(f.delay):
	}
	return answer(request)
}

func (f *fakePlanner) GetPlan(_ context.Context, request *evenkeelv1.GetPlanRequest, _ ...grpc.CallOption) (
	*evenkeelv1.GetPlanResponse, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gets++
	return f.stored(request.GetPlanId())
}

func (f *fakePlanner) calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.requests)
}

func (f *fakePlanner) set(answer func(*evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer = answer
}

// plan makes a plan for all GPUs of the pool: tensor 8 unless told, two stages.
func plan(id, gpuType string, gpus, tensor int32) *evenkeelv1.Plan {
	return &evenkeelv1.Plan{PlanId: id,
		Subject:     &evenkeelv1.PlanSubject{GpuType: gpuType, GpuCount: gpus, GpusPerNode: 8},
		Parallelism: &evenkeelv1.Parallelism{Tensor: tensor, Pipeline: 2, Data: gpus / tensor / 2, Context: 1},
		Placement:   &evenkeelv1.Placement{GpusPerNode: min(8, gpus), ColocatedRanks: tensor}}
}

// planAll plans every pool, in their order.
func planAll(request *evenkeelv1.PlanJobRequest) (*evenkeelv1.PlanJobResponse, error) {
	answer := &evenkeelv1.PlanJobResponse{}
	for _, pool := range request.GetJob().GetCluster().GetPools() {
		answer.Offers = append(answer.Offers, plan("plan-"+pool.GetGpuType(), pool.GetGpuType(), pool.GetGpuCount(), 2))
	}
	answer.Plan = answer.Offers[0]
	return answer, nil
}

// fakeHandle is as much of a scheduler as the plugin touches.
type fakeHandle struct {
	fwk.Handle
	client    *fake.Clientset
	informers informers.SharedInformerFactory
	binder    string
	events    *events.FakeRecorder

	mu        sync.Mutex
	snapshot  fwk.SharedLister
	activated []string
}

func (h *fakeHandle) ClientSet() kubernetes.Interface                        { return h.client }
func (h *fakeHandle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }
func (h *fakeHandle) APICacher() fwk.APICacher                               { return nil }
func (h *fakeHandle) ProfileName() string                                    { return "test" }
func (h *fakeHandle) EventRecorder() events.EventRecorderLogger              { return h.events }

func (h *fakeHandle) SnapshotSharedLister() fwk.SharedLister {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.snapshot
}

func (h *fakeHandle) ListPlugins() *config.Plugins {
	return &config.Plugins{Bind: config.PluginSet{Enabled: []config.Plugin{{Name: h.binder}}}}
}

func (h *fakeHandle) Activate(_ klog.Logger, pods map[string]*v1.Pod) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name := range pods {
		h.activated = append(h.activated, name)
	}
}

func (h *fakeHandle) takeActivated() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	count := len(h.activated)
	h.activated = nil
	return count
}

// rig is a plugin over a fake scheduler and planner.
type rig struct {
	*testing.T
	plugin  *Plugin
	handle  *fakeHandle
	planner *fakePlanner
	nodes   []*v1.Node
	pods    []*v1.Pod
}

func newRig(t *testing.T, args Args) *rig {
	t.Helper()
	args.setDefaults()
	if err := args.validate(); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset()
	made := &rig{T: t, planner: &fakePlanner{answer: planAll},
		handle: &fakeHandle{client: client, informers: informers.NewSharedInformerFactory(client, 0), binder: Name,
			events: events.NewFakeRecorder(100)}}
	var err error
	if made.plugin, err = newPlugin(t.Context(), &args, made.handle, made.planner); err != nil {
		t.Fatal(err)
	}
	made.refresh()
	return made
}

// refresh takes the snapshot that a scheduling cycle begins with.
func (r *rig) refresh() {
	r.handle.mu.Lock()
	defer r.handle.mu.Unlock()
	r.handle.snapshot = cache.NewSnapshot(r.pods, r.nodes)
}

func (r *rig) addNodes(prefix, product string, count, perLeaf int) {
	for at := range count {
		resources := v1.ResourceList{"nvidia.com/gpu": resource.MustParse("8"), v1.ResourcePods: resource.MustParse("110")}
		labels := map[string]string{"nvidia.com/gpu.product": product}
		if perLeaf > 0 {
			labels["network.topology.nvidia.com/leaf"] = fmt.Sprint(prefix, at/perLeaf)
		}
		node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", prefix, at), Labels: labels},
			Status: v1.NodeStatus{Capacity: resources, Allocatable: resources}}
		r.nodes = append(r.nodes, node)
		r.plugin.inventory.update(node, false)
	}
	r.refresh()
}

func gangPod(gang string, at, size, gpus int) *v1.Pod {
	name := fmt.Sprintf("%s-%d", gang, at)
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns", UID: types.UID("uid-" + name),
			Labels:      map[string]string{podGroupLabel: gang},
			Annotations: map[string]string{annotations.Model: "llama3-8b", annotations.Pods: fmt.Sprint(size)}},
		Spec: v1.PodSpec{Containers: []v1.Container{{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
			"nvidia.com/gpu": resource.MustParse(fmt.Sprint(gpus))}}}}},
	}
}

// preFilter runs the beginning of a scheduling attempt.
func (r *rig) preFilter(pod *v1.Pod) (*framework.CycleState, *fwk.PreFilterResult, *fwk.Status) {
	state := framework.NewCycleState()
	result, status := r.plugin.PreFilter(r.Context(), state, pod, nil)
	return state, result, status
}

// schedule runs a whole attempt. It returns the node, or "" and why.
func (r *rig) schedule(pod *v1.Pod) (string, *framework.CycleState, *fwk.Status) {
	r.Helper()
	state, result, status := r.preFilter(pod)
	if status != nil && !status.IsSkip() {
		return "", state, status
	}
	best, most := "", int64(-1)
	infos, err := r.handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		r.Fatal(err)
	}
	var last *fwk.Status
	for _, info := range infos {
		name := info.Node().Name
		if result != nil && !result.NodeNames.Has(name) || free(info, "nvidia.com/gpu") < requested(pod, "nvidia.com/gpu") {
			continue
		}
		if !status.IsSkip() {
			if last = r.plugin.Filter(r.Context(), state, pod, info); !last.IsSuccess() {
				continue
			}
		}
		score, _ := r.plugin.Score(r.Context(), state, pod, info)
		if score > most || score == most && name < best {
			best, most = name, score
		}
	}
	if best == "" {
		return "", state, last
	}
	if status := r.plugin.Reserve(r.Context(), state, pod, best); !status.IsSuccess() {
		r.plugin.Unreserve(r.Context(), state, pod, best)
		return "", state, status
	}
	bound := pod.DeepCopy()
	bound.Spec.NodeName = best
	r.pods = append(r.pods, bound)
	r.refresh()
	return best, state, nil
}

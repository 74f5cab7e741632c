package scheduler

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	fwk "k8s.io/kube-scheduler/framework"

	"evenkeel.dev/client/go/annotations"
)

func podGroup(name string, minMember int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": coschedulingGroups.GroupVersion().String(), "kind": "PodGroup",
		"metadata": map[string]any{"name": name, "namespace": "ns"},
		"spec":     map[string]any{"minMember": minMember}}}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

func TestPodGroupOfCoschedulingSaysHowManyPods(t *testing.T) {
	r := newRig(t, Args{})
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{coschedulingGroups: "PodGroupList"})
	if err := r.plugin.followGroups(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	r.addNodes("h", h100Product, 4, 4)
	pod := gangPod("gang", 0, 4, 8)
	delete(pod.Annotations, annotations.Pods) // the PodGroup says it
	_, _, status := r.schedule(pod)
	r.wantCode(status, fwk.UnschedulableAndUnresolvable, annotations.Pods+": required")

	// The group comes after its pods: they are brought back.
	pods := r.handle.informers.Core().V1().Pods().Informer().GetStore()
	bound := gangPod("gang", 1, 4, 8)
	bound.Spec.NodeName = "h-0"
	for _, one := range []*v1.Pod{pod, bound, gangPod("other", 0, 4, 8)} {
		if err := pods.Add(one); err != nil {
			t.Fatal(err)
		}
	}
	groups := client.Resource(coschedulingGroups).Namespace("ns")
	if _, err := groups.Create(t.Context(), podGroup("gang", 4), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is brought back", func() bool { return r.handle.takeActivated() == 1 })
	if size, err := r.plugin.gangSize(pod); size != 4 || err != nil {
		t.Fatalf("size %d, error %v", size, err)
	}
	if _, err := groups.Update(t.Context(), podGroup("gang", 2), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the pod is brought back again", func() bool { return r.handle.takeActivated() == 1 })
	eventually(t, "it is planned for two", func() bool {
		r.schedule(pod)
		return r.planner.calls() > 0
	})
	r.planner.mu.Lock()
	count := r.planner.requests[0].GetJob().GetCluster().GetPools()[0].GetGpuCount()
	r.planner.mu.Unlock()
	if count != 16 {
		t.Errorf("planned for %d GPUs, want 16", count)
	}
	// What the pod itself says comes first.
	size, _ := r.plugin.gangSize(gangPod("none", 0, 3, 8))
	if job, err := parsePod(gangPod("gang", 0, 3, 8), []string{"nvidia.com/gpu"}, 2); err != nil || job.pods != 3 || size != 0 {
		t.Errorf("job %+v, error %v, size %d", job, err, size)
	}
}

func TestClustersWithoutCoschedulingHaveNoSuchGroups(t *testing.T) {
	r := newRig(t, Args{})
	if r.plugin.groups != nil {
		t.Error("PodGroups are followed, although the API server has none")
	}
	r.handle.client.Resources = []*metav1.APIResourceList{{GroupVersion: coschedulingGroups.GroupVersion().String()}}
	if client, err := dynamicClient(r.handle); client != nil || err != nil {
		t.Errorf("client %v, error %v", client, err)
	}
}

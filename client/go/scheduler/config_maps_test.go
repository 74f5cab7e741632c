package scheduler

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubetesting "k8s.io/client-go/testing"
	fwk "k8s.io/kube-scheduler/framework"

	"evenkeel.dev/client/go/annotations"
)

func configMap(name, key, text string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "ns",
		Labels: map[string]string{annotations.JobConfigMap: "true"}}, Data: map[string]string{key: text}}
}

// configMapPod is a pod of a gang whose job is in a ConfigMap; the plugin's informer of pods knows it.
func (r *rig) configMapPod(gang string, at, size int, reference string) *v1.Pod {
	r.Helper()
	pod := gangPod(gang, at, size, 8)
	delete(pod.Annotations, annotations.Model)
	pod.Annotations[annotations.JobConfigMap] = reference
	if err := r.handle.informers.Core().V1().Pods().Informer().GetStore().Add(pod); err != nil {
		r.Fatal(err)
	}
	return pod
}

// comesBackWith waits until the pod was brought back and its status then says this; "": it has a node.
func (r *rig) comesBackWith(pod *v1.Pod, text string) {
	r.Helper()
	var status *fwk.Status
	eventually(r.T, "the pod's status: "+text, func() bool {
		if r.handle.takeActivated() == 0 {
			return false
		}
		_, _, status = r.schedule(pod)
		return text == "" && status.IsSuccess() || text != "" && strings.Contains(status.Message(), text)
	})
}

func (r *rig) put(object *v1.ConfigMap, existed bool) {
	r.Helper()
	maps := r.handle.client.CoreV1().ConfigMaps("ns")
	var err error
	if existed {
		_, err = maps.Update(r.Context(), object, metav1.UpdateOptions{})
	} else {
		_, err = maps.Create(r.Context(), object, metav1.CreateOptions{})
	}
	if err != nil {
		r.Fatal(err)
	}
}

const batch64 = `{"model":{"name":"llama3-8b"},"training":{"global_batch_samples":64}}`

func TestConfigMapIsTheJob(t *testing.T) {
	r := newRig(t, Args{})
	r.addNodes("h", h100Product, 4, 4)
	pod := r.configMapPod("gang", 0, 1, "train")
	r.schedule(pod) // an attempt does not wait until they are read
	r.comesBackWith(pod, `namespace ns has no ConfigMap "train" with the label `+annotations.JobConfigMap)

	r.put(configMap("train", "a.json", batch64), false)
	r.comesBackWith(pod, "")
	if r.planner.calls() != 1 {
		t.Fatalf("%d calls", r.planner.calls())
	}
	r.planner.mu.Lock()
	job := r.planner.requests[0].GetJob()
	r.planner.mu.Unlock()
	if job.GetTraining().GetGlobalBatchSamples() != 64 || job.GetCluster().GetPools()[0].GetGpuCount() != 8 {
		t.Errorf("asked for %v", job)
	}
	// The same words in an annotation are the same job.
	inline := gangPod("inline", 0, 1, 8)
	delete(inline.Annotations, annotations.Model)
	inline.Annotations[annotations.Job] = batch64
	if node, _, status := r.schedule(inline); node == "" || r.planner.calls() != 1 {
		t.Errorf("%v, %d calls", status, r.planner.calls())
	}
}

func TestConfigMapIsMended(t *testing.T) {
	r := newRig(t, Args{})
	r.addNodes("h", h100Product, 4, 4)
	r.put(configMap("train", "a.json", "{"), false)
	pod := r.configMapPod("gang", 0, 1, "train/b.json")
	r.schedule(pod)
	r.comesBackWith(pod, `ConfigMap ns/train has no key "b.json"; accepted: a.json`)
	r.put(configMap("train", "b.json", "{"), true)
	r.comesBackWith(pod, "the planner refuses the job: ConfigMap train/b.json: neither evenkeel.v1.Job nor PlanJobRequest")
	r.put(configMap("train", "b.json", batch64), true)
	r.comesBackWith(pod, "")
	if len(r.handle.events.Events) != 0 {
		t.Errorf("an event of a change that came in time: %s", <-r.handle.events.Events)
	}
}

func TestJobThatHasBegunKeepsItsPlan(t *testing.T) {
	r := newRig(t, Args{})
	r.addNodes("h", h100Product, 4, 4)
	r.put(configMap("train", "a.json", batch64), false)
	first := r.configMapPod("gang", 0, 2, "train")
	r.schedule(first)
	r.comesBackWith(first, "")
	bound := first.DeepCopy()
	bound.Spec.NodeName = "h-0"
	if err := r.handle.informers.Core().V1().Pods().Informer().GetStore().Update(bound); err != nil {
		t.Fatal(err)
	}

	r.put(configMap("train", "a.json", strings.Replace(batch64, "64", "128", 1)), true)
	eventually(t, "an event", func() bool { return len(r.handle.events.Events) == 1 })
	if text := <-r.handle.events.Events; !strings.Contains(text, "Warning JobHasBegun") || !strings.Contains(text, "of this ConfigMap: 1;") {
		t.Error(text)
	}
	if err := r.handle.client.CoreV1().ConfigMaps("ns").Delete(t.Context(), "train", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	second := r.configMapPod("gang", 1, 2, "train")
	eventually(t, "the ConfigMap is gone", func() bool {
		_, found, err := r.plugin.configMaps.get("ns", "train")
		return !found && err == nil
	})
	if node, state, status := r.schedule(second); node == "" || read(state).place != 1 || r.planner.calls() != 1 {
		t.Errorf("the rest of the job: %v, %d calls", status, r.planner.calls())
	}
	_, _, status := r.schedule(r.configMapPod("later", 0, 1, "train"))
	r.wantCode(status, fwk.UnschedulableAndUnresolvable, "has no ConfigMap")
}

func TestConfigMapsThatMayNotBeRead(t *testing.T) {
	r := newRig(t, Args{})
	r.addNodes("h", h100Product, 4, 4)
	r.handle.client.PrependReactor("list", "configmaps", func(kubetesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)
	})
	r.schedule(gangPod("plain", 0, 1, 8))
	for _, action := range r.handle.client.Actions() {
		if action.GetResource().Resource == "configmaps" {
			t.Error("ConfigMaps are read although no pod names one")
		}
	}
	pod := r.configMapPod("gang", 0, 1, "train")
	r.schedule(pod)
	r.comesBackWith(pod, "this scheduler can not read ConfigMaps: ")
}

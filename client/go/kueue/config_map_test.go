package kueue

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/event"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeelv1"
)

// fakePlanner has one plan for everything, and keeps the last request.
type fakePlanner struct{ request *evenkeelv1.PlanJobRequest }

func (f *fakePlanner) PlanJob(_ context.Context, request *evenkeelv1.PlanJobRequest, _ ...grpc.CallOption) (
	*evenkeelv1.PlanJobResponse, error) {
	f.request = request
	return &evenkeelv1.PlanJobResponse{Plan: &evenkeelv1.Plan{PlanId: "plan-1", Subject: &evenkeelv1.PlanSubject{}}}, nil
}

// rig is a reconciler over an API server that has a queue's objects and one workload with quota.
type rig struct {
	*testing.T
	*workloadReconciler
	fake   *fakePlanner
	events *record.FakeRecorder
}

// newRig makes a workload of 4 pods, of which Kueue admitted `admitted`, each with 8 GPUs.
func newRig(t *testing.T, said map[string]string, admitted int32, objects ...client.Object) *rig {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, kueue.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	set := podSet("main", said)
	set.Count = 4
	set.Template.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("8")}}}}
	workload := &kueue.Workload{ObjectMeta: metav1.ObjectMeta{Name: "train", Namespace: "ns"},
		Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{set}},
		Status: kueue.WorkloadStatus{
			Conditions: []metav1.Condition{{Type: kueue.WorkloadQuotaReserved, Status: metav1.ConditionTrue}},
			Admission: &kueue.Admission{PodSetAssignments: []kueue.PodSetAssignment{{Name: "main", Count: &admitted,
				Flavors: map[corev1.ResourceName]kueue.ResourceFlavorReference{"nvidia.com/gpu": "h100"}}}},
			AdmissionChecks: []kueue.AdmissionCheckState{{Name: "plan", State: kueue.CheckStatePending}}}}
	objects = append(objects, workload,
		&kueue.AdmissionCheck{ObjectMeta: metav1.ObjectMeta{Name: "plan"},
			Spec: kueue.AdmissionCheckSpec{ControllerName: ControllerName}},
		&kueue.ResourceFlavor{ObjectMeta: metav1.ObjectMeta{Name: "h100"},
			Spec: kueue.ResourceFlavorSpec{NodeLabels: map[string]string{gpuTypeLabels[1]: "NVIDIA-H100-80GB-HBM3"}}})
	made := &rig{T: t, fake: &fakePlanner{}, events: record.NewFakeRecorder(10)}
	made.workloadReconciler = &workloadReconciler{planner: made.fake, events: made.events,
		client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(workload).Build()}
	return made
}

// state reconciles the workload, and returns what its check then says.
func (r *rig) state() kueue.AdmissionCheckState {
	r.Helper()
	key := client.ObjectKey{Namespace: "ns", Name: "train"}
	if _, err := r.Reconcile(r.Context(), ctrl.Request{NamespacedName: key}); err != nil {
		r.Fatal(err)
	}
	workload := &kueue.Workload{}
	if err := r.client.Get(r.Context(), key, workload); err != nil {
		r.Fatal(err)
	}
	return workload.Status.AdmissionChecks[0]
}

func jobs(namespace string, label string, data map[string]string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "jobs", Namespace: namespace,
		Labels: map[string]string{label: "true"}}, Data: data}
}

func TestConfigMapIsTheJob(t *testing.T) {
	good := map[string]string{"a.json": `{"model":{"name":"llama3-8b"}}`, "typo.json": `{"modell":{}}`,
		"pools.json": `{"model":{"name":"llama3-8b"},"cluster":{"pools":[{"gpu_type":"h200-sxm-141gb"}]}}`}
	here := jobs("ns", annotations.JobConfigMap, good)
	for name, test := range map[string]struct {
		reference string
		object    *corev1.ConfigMap
		want      kueue.CheckState
		text      string
	}{
		"key":             {"jobs/a.json", here, kueue.CheckStateReady, "plan-1"},
		"pools":           {"jobs/pools.json", here, kueue.CheckStateReady, "plan-1"},
		"several keys":    {"jobs", here, kueue.CheckStateRetry, "accepted: NAME/KEY with one of a.json, pools.json, typo.json"},
		"wrong key":       {"jobs/c.json", here, kueue.CheckStateRetry, `ConfigMap ns/jobs has no key "c.json"`},
		"missing":         {"gone/a.json", here, kueue.CheckStateRetry, `namespace ns has no ConfigMap "gone"`},
		"other namespace": {"jobs/a.json", jobs("other", annotations.JobConfigMap, good), kueue.CheckStateRetry, "own namespace"},
		"no label":        {"jobs/a.json", jobs("ns", "app", good), kueue.CheckStateRetry, "with the label " + annotations.JobConfigMap},
		"wrong reference": {"ns/jobs/a.json", here, kueue.CheckStateRejected, "accepted: NAME or NAME/KEY"},
		"wrong job":       {"jobs/typo.json", here, kueue.CheckStateRejected, "ConfigMap jobs/typo.json: neither"},
	} {
		r := newRig(t, map[string]string{annotations.JobConfigMap: test.reference}, 4, test.object)
		state := r.state()
		if state.State != test.want || !strings.Contains(state.Message, test.text) ||
			(state.RequeueAfterSeconds != nil) != (test.want == kueue.CheckStateRetry) {
			t.Errorf("%s: %+v, want %s with %q", name, state, test.want, test.text)
		}
		if told := len(r.events.Events) == 1; told != (test.want == kueue.CheckStateRetry) {
			t.Errorf("%s: %d events", name, len(r.events.Events))
		} else if text := "Warning AdmissionCheckRetry plan: " + state.Message; told && text != <-r.events.Events {
			t.Errorf("%s: no event says %q", name, text)
		}
		if test.want == kueue.CheckStateReady && r.fake.request.GetJob().GetModel().GetName() != "llama3-8b" {
			t.Errorf("%s: asked for %v", name, r.fake.request)
		}
	}
}

func TestPodSetsThatNameDifferentConfigMapsDiffer(t *testing.T) {
	a, b := podSet("a", map[string]string{annotations.JobConfigMap: "a"}), podSet("b", map[string]string{annotations.JobConfigMap: "b"})
	if key := differs(&a, &b); key != annotations.JobConfigMap {
		t.Errorf("they differ in %q", key)
	}
}

func TestLateChangeIsAnEvent(t *testing.T) {
	before := jobs("ns", annotations.JobConfigMap, map[string]string{"a.json": `{"model":{"name":"llama3-8b"}}`})
	r := newRig(t, map[string]string{annotations.JobConfigMap: "jobs"}, 4, before)
	after := before.DeepCopy()
	after.Data["a.json"] = `{"model":{"name":"llama3-70b"}}`
	r.configMapChanged(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, nil)
	if len(r.events.Events) != 0 {
		t.Errorf("the job is not planned yet, but: %s", <-r.events.Events)
	}
	if state := r.state(); state.State != kueue.CheckStateReady {
		t.Fatalf("%+v", state)
	}
	relabelled := before.DeepCopy()
	relabelled.Labels["other"] = "label"
	r.configMapChanged(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: relabelled}, nil)
	other := after.DeepCopy()
	other.Name = "others"
	r.configMapChanged(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: other}, nil)
	r.configMapChanged(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: after}, nil)
	if len(r.events.Events) != 1 {
		t.Fatalf("%d events", len(r.events.Events))
	}
	if text := <-r.events.Events; !strings.Contains(text, "Warning JobHasBegun ConfigMap jobs changed") {
		t.Error(text)
	}
}

func TestAdmittedSizeIsPlanned(t *testing.T) {
	r := newRig(t, map[string]string{annotations.Model: "llama3-8b"}, 3)
	if state := r.state(); state.State != kueue.CheckStateReady {
		t.Fatalf("%+v", state)
	}
	if count := r.fake.request.GetJob().GetCluster().GetPools()[0].GetGpuCount(); count != 24 {
		t.Errorf("planned for %d GPUs, but Kueue admitted 3 pods of 8", count)
	}
	if pods := r.state().PodSetUpdates[0].Annotations[annotations.Pods]; pods != "3" {
		t.Errorf("the pods are told that they are %q", pods)
	}
}

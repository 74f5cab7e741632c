package e2e

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"evenkeel.dev/client/go/evenkeelv1"
)

var (
	crds       = resourceOf("apiextensions.k8s.io/v1", "customresourcedefinitions")
	checks     = resourceOf("kueue.x-k8s.io/v1beta2", "admissionchecks")
	flavors    = resourceOf("kueue.x-k8s.io/v1beta2", "resourceflavors")
	workloads  = resourceOf("kueue.x-k8s.io/v1beta2", "workloads")
	parameters = resourceOf("evenkeel.dev/v1alpha1", "plancheckparameters")
	roles      = resourceOf("rbac.authorization.k8s.io/v1", "clusterroles")
	bindings   = resourceOf("rbac.authorization.k8s.io/v1", "clusterrolebindings")
)

func resourceOf(version, resource string) schema.GroupVersionResource {
	parsed, err := schema.ParseGroupVersion(version)
	if err != nil {
		panic(err)
	}
	return parsed.WithResource(resource)
}

// queue is Kueue as far as the check sees it: its CRDs, and this test in the part of its controllers.
type queue struct {
	*testing.T
	client dynamic.Interface
}

func documents(t *testing.T, path string) (objects []*unstructured.Unstructured) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); err == io.EOF {
			return objects
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

func (q *queue) create(resource schema.GroupVersionResource, namespace string, object *unstructured.Unstructured) {
	q.Helper()
	if _, err := q.client.Resource(resource).Namespace(namespace).Create(q.Context(), object,
		metav1.CreateOptions{}); err != nil {
		q.Fatalf("%s: %v", resource.Resource, err)
	}
}

func (q *queue) object(version, kind, text string) *unstructured.Unstructured {
	q.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		q.Fatal(err)
	}
	object.SetAPIVersion(version)
	object.SetKind(kind)
	return object
}

// newQueue installs the CRDs and starts the controller with no more rights than the shipped role gives.
func newQueue(t *testing.T) *queue {
	t.Helper()
	folder := os.Getenv("EVENKEEL_KUEUE_CRDS")
	if folder == "" {
		t.Fatal("EVENKEEL_KUEUE_CRDS: folder with Kueue's CRDs; see run.sh")
	}
	client, err := dynamic.NewForConfig(plane.config)
	if err != nil {
		t.Fatal(err)
	}
	q := &queue{t, client}
	for _, name := range []string{"workloads", "admissionchecks", "resourceflavors"} {
		for _, crd := range documents(t, filepath.Join(folder, "kueue.x-k8s.io_"+name+".yaml")) {
			newestOnly(t, crd)
			q.create(crds, "", crd)
		}
	}
	for _, crd := range documents(t, "../../../client/go/kueue/config/crd.yaml") {
		q.create(crds, "", crd)
	}
	for _, role := range documents(t, "../../../client/go/kueue/config/rbac.yaml") {
		if role.GetKind() == "ClusterRole" {
			q.create(roles, "", role)
		}
	}
	q.create(bindings, "", q.object("rbac.authorization.k8s.io/v1", "ClusterRoleBinding", `
metadata: {name: evenkeel-kueue}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: evenkeel-kueue}
subjects: [{kind: User, apiGroup: rbac.authorization.k8s.io, name: evenkeel-kueue}]`))
	waitFor(t, 30*time.Second, "the CRDs to be served", func() (bool, string) {
		for _, resource := range []schema.GroupVersionResource{checks, flavors, workloads, parameters} {
			if _, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{}); err != nil {
				return false, err.Error()
			}
		}
		return true, ""
	})
	controller, err := plane.run("evenkeel-kueue", "--planner="+plane.planner, "--deadline=5s",
		"--kubeconfig="+plane.folder+"/kueue.kubeconfig", "--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(controller) })
	return q
}

// newestOnly leaves a CRD its version v1beta2: to convert to the older one is the work of Kueue's webhook.
func newestOnly(t *testing.T, crd *unstructured.Unstructured) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		if version := version.(map[string]any); version["name"] == "v1beta2" {
			version["storage"], version["served"] = true, true
			_ = unstructured.SetNestedSlice(crd.Object, []any{version}, "spec", "versions")
			return
		}
	}
	t.Fatalf("%s has no version v1beta2", crd.GetName())
}

// workload makes one that Kueue has just given quota, its checks pending.
func (q *queue) workload(name, annotations string, pods, gpus int, checks ...string) {
	q.Helper()
	q.create(workloads, "default", q.object("kueue.x-k8s.io/v1beta2", "Workload", fmt.Sprintf(`
metadata: {name: %[1]s, namespace: default}
spec:
  queueName: training
  podSets:
  - name: main
    count: %[3]d
    template:
      metadata: {annotations: %[2]s}
      spec:
        restartPolicy: Never
        containers:
        - name: trainer
          image: trainer
          resources: {requests: {nvidia.com/gpu: "%[4]d"}, limits: {nvidia.com/gpu: "%[4]d"}}
`, name, annotations, pods, gpus)))
	q.reserve(name, pods, checks...)
}

// reserve does what Kueue does when a workload gets quota, or gets it again after a retry.
func (q *queue) reserve(name string, pods int, checks ...string) {
	q.Helper()
	now := time.Now().UTC().Format(time.RFC3339)
	states := []any{}
	for _, check := range checks {
		states = append(states, map[string]any{"name": check, "state": "Pending", "message": "", "lastTransitionTime": now})
	}
	found, err := q.client.Resource(workloads).Namespace("default").Get(q.Context(), name, metav1.GetOptions{})
	if err != nil {
		q.Fatal(err)
	}
	found.Object["status"] = map[string]any{
		"conditions": []any{map[string]any{"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved",
			"message": "", "lastTransitionTime": now}},
		"admission": map[string]any{"clusterQueue": "cluster", "podSetAssignments": []any{map[string]any{"name": "main",
			"count": int64(pods), "flavors": map[string]any{"nvidia.com/gpu": "h100"}}}},
		"admissionChecks": states,
	}
	if _, err := q.client.Resource(workloads).Namespace("default").UpdateStatus(q.Context(), found,
		metav1.UpdateOptions{}); err != nil {
		q.Fatal(err)
	}
}

// state waits until a check of a workload is no longer pending.
func (q *queue) state(name, check string) (state map[string]any) {
	q.Helper()
	waitFor(q.T, 30*time.Second, "an answer on "+name, func() (bool, string) {
		found, err := q.client.Resource(workloads).Namespace("default").Get(q.Context(), name, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		states, _, _ := unstructured.NestedSlice(found.Object, "status", "admissionChecks")
		for _, one := range states {
			if state = one.(map[string]any); state["name"] == check && state["state"] != "Pending" {
				return true, ""
			}
		}
		log, _ := os.ReadFile(plane.folder + "/evenkeel-kueue.log")
		return false, fmt.Sprintf("%v\n%s", states, log[max(0, len(log)-2000):])
	})
	return state
}

func (q *queue) want(name, check, state, text string) map[string]any {
	q.Helper()
	found := q.state(name, check)
	if found["state"] != state || !strings.Contains(fmt.Sprint(found["message"]), text) {
		q.Errorf("%s: %v, want %s with %q", name, found, state, text)
	}
	return found
}

func (q *queue) active(check, status, text string) {
	q.Helper()
	waitFor(q.T, 30*time.Second, check+" to be Active="+status, func() (bool, string) {
		found, err := q.client.Resource(checks).Get(q.Context(), check, metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		conditions, _, _ := unstructured.NestedSlice(found.Object, "status", "conditions")
		for _, one := range conditions {
			condition := one.(map[string]any)
			if condition["type"] == "Active" && condition["status"] == status &&
				strings.Contains(fmt.Sprint(condition["message"]), text) {
				return true, ""
			}
		}
		return false, fmt.Sprint(conditions)
	})
}

func (q *queue) check(name, controller, parameters string) {
	q.Helper()
	spec := "spec: {controllerName: " + controller
	if parameters != "" {
		spec += ", parameters: {apiGroup: evenkeel.dev, kind: PlanCheckParameters, name: " + parameters + "}"
	}
	q.create(checks, "", q.object("kueue.x-k8s.io/v1beta2", "AdmissionCheck", "metadata: {name: "+name+"}\n"+spec+"}"))
}

func TestKueueAdmissionCheck(t *testing.T) {
	server := startPlanner(t)
	q := newQueue(t)
	q.create(flavors, "", q.object("kueue.x-k8s.io/v1beta2", "ResourceFlavor", `
metadata: {name: h100}
spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}`))
	q.check("plan", "evenkeel.dev/planner", "")
	q.check("open", "evenkeel.dev/planner", "open")
	q.check("foreign", "example.com/other", "")
	q.active("plan", "True", "")
	q.active("open", "False", "not found")
	q.create(parameters, "", q.object("evenkeel.dev/v1alpha1", "PlanCheckParameters", `
metadata: {name: open}
spec: {onPlannerFailure: Ready, retryAfterSeconds: 7}`))
	q.active("open", "True", "")

	q.workload("fits", `{evenkeel.dev/model: llama3-70b}`, 8, 8, "plan", "foreign")
	ready := q.want("fits", "plan", "Ready", "64 GPUs of type h100-sxm-80gb")
	updates, _, _ := unstructured.NestedSlice(ready, "podSetUpdates")
	if len(updates) != 1 {
		t.Fatalf("updates %v", updates)
	}
	id, _, _ := unstructured.NestedString(updates[0].(map[string]any), "annotations", "evenkeel.dev/plan")
	labelled, _, _ := unstructured.NestedString(updates[0].(map[string]any), "labels", "evenkeel.dev/plan")
	if answer, err := plannerClient(t).GetPlan(t.Context(), &evenkeelv1.GetPlanRequest{PlanId: id}); err != nil ||
		labelled != id || answer.GetPlan().GetSubject().GetGpuCount() != 64 {
		t.Errorf("plan %q, label %q: %v", id, labelled, err)
	}
	found, err := q.client.Resource(workloads).Namespace("default").Get(t.Context(), "fits", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if states, _, _ := unstructured.NestedSlice(found.Object, "status", "admissionChecks"); len(states) != 2 ||
		states[1].(map[string]any)["state"] != "Pending" {
		t.Errorf("the check of another controller was touched: %v", states)
	}

	q.workload("huge", `{evenkeel.dev/model: llama3.1-405b}`, 1, 8, "plan")
	q.want("huge", "plan", "Rejected", "the job does not fit: ")
	q.workload("typo", `{evenkeel.dev/model: lama}`, 1, 8, "plan")
	q.want("typo", "plan", "Rejected", "job.model.name")
	q.workload("plain", `{}`, 1, 8, "plan")
	q.want("plain", "plan", "Ready", "no pod set asks for a plan")

	server.Kill()
	q.workload("patient", `{evenkeel.dev/model: llama3-8b}`, 2, 8, "plan")
	if retry := q.want("patient", "plan", "Retry", "the planner can not be asked"); retry["requeueAfterSeconds"] != int64(30) {
		t.Errorf("requeueAfterSeconds %v", retry["requeueAfterSeconds"])
	}
	q.workload("hasty", `{evenkeel.dev/model: llama3-8b}`, 2, 8, "open")
	q.want("hasty", "open", "Ready", "admitted without a plan")
	server.Start(t)
	time.Sleep(3 * time.Second) // the client's longest pause between connections
	q.reserve("patient", 2, "plan")
	q.want("patient", "plan", "Ready", "16 GPUs of type h100-sxm-80gb")
}

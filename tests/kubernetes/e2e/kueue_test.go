package e2e

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/cert"

	"evenkeel.dev/client/go/evenkeelv1"
)

var (
	crds          = resourceOf("apiextensions.k8s.io/v1", "customresourcedefinitions")
	checks        = resourceOf("kueue.x-k8s.io/v1beta2", "admissionchecks")
	clusterQueues = resourceOf("kueue.x-k8s.io/v1beta2", "clusterqueues")
	flavors       = resourceOf("kueue.x-k8s.io/v1beta2", "resourceflavors")
	localQueues   = resourceOf("kueue.x-k8s.io/v1beta2", "localqueues")
	workloads     = resourceOf("kueue.x-k8s.io/v1beta2", "workloads")
	parameters    = resourceOf("evenkeel.dev/v1alpha1", "plancheckparameters")
)

// kueueConfig: webhooks are served, but not registered. They would fill in defaults, which this test gives itself.
const kueueConfig = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
leaderElection: {leaderElect: false}
health: {healthProbeBindAddress: "127.0.0.1:%[1]d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %[2]d, certDir: %[3]s/etc/kueue/metrics/certs}
internalCertManagement: {enable: false}
integrations: {frameworks: [batch/job, jobset.x-k8s.io/jobset, trainer.kubeflow.org/trainjob]}
`

func resourceOf(version, resource string) schema.GroupVersionResource {
	parsed, err := schema.ParseGroupVersion(version)
	if err != nil {
		panic(err)
	}
	return parsed.WithResource(resource)
}

// queue is a cluster with Kueue and our check.
type queue struct {
	*testing.T
	client dynamic.Interface
}

func documents(t *testing.T, path string) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, path, string(text))
}

func decode(t *testing.T, name, text string) (objects []*unstructured.Unstructured) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(&object.Object); err == io.EOF {
			return objects
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
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

// newQueue installs the CRDs and starts Kueue, and our controller with the rights that its ServiceAccount is given.
func newQueue(t *testing.T) *queue {
	t.Helper()
	folder := os.Getenv("EVENKEEL_KUEUE_CRDS")
	if folder == "" {
		t.Fatal("EVENKEEL_KUEUE_CRDS: folder with Kueue's CRDs; see run.sh")
	}
	client := anyClient(t)
	q := &queue{t, client}
	files, err := filepath.Glob(filepath.Join(folder, "kueue.x-k8s.io_*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no CRDs (%v)", folder, err)
	}
	for _, file := range files {
		for _, crd := range documents(t, file) {
			newestOnly(t, crd)
			q.create(crds, "", crd)
		}
	}
	for _, crd := range documents(t, "../../../client/go/kueue/config/crd.yaml") {
		q.create(crds, "", crd)
	}
	q.installKinds()
	namespace := v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kueue-system"}}
	if _, err := plane.client.CoreV1().Namespaces().Create(t.Context(), &namespace, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	apply(t, "../../../client/go/kueue/config/rbac.yaml")
	apply(t, "../../../client/go/kueue/config/deployment.yaml")
	waitFor(t, 30*time.Second, "the CRDs to be served", func() (bool, string) {
		for _, resource := range []schema.GroupVersionResource{checks, clusterQueues, flavors, localQueues, workloads, parameters} {
			if _, err := client.Resource(resource).List(t.Context(), metav1.ListOptions{}); err != nil {
				return false, err.Error()
			}
		}
		return true, ""
	})
	q.startKueue()
	controller, err := plane.run("evenkeel-kueue", "--planner="+plane.planner, "--deadline=5s", "--leader-elect",
		"--leader-election-namespace=kueue-system", "--kubeconfig="+plane.folder+"/kueue.kubeconfig",
		"--metrics-bind-address=0", "--health-probe-bind-address=0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kill(controller) })
	return q
}

// startKueue runs Kueue itself. It looks for the certificate of its metrics under /etc, so it gets an /etc of its own.
func (q *queue) startKueue() {
	q.Helper()
	ports, err := freePorts(2)
	if err != nil {
		q.Fatal(err)
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		q.Fatal(err)
	}
	folder := plane.folder + "/etc/kueue/metrics/certs"
	if err := os.MkdirAll(folder, 0o700); err != nil {
		q.Fatal(err)
	}
	for path, text := range map[string][]byte{folder + "/tls.crt": certificate, folder + "/tls.key": key,
		plane.folder + "/kueue.yaml": fmt.Appendf(nil, kueueConfig, ports[0], ports[1], plane.folder)} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			q.Fatal(err)
		}
	}
	process, err := plane.launch("kueue", "unshare", "--mount", "sh", "-c", `mount --bind "$0" /etc && exec "$@"`,
		plane.folder+"/etc", plane.programs+"/kueue", "--config="+plane.folder+"/kueue.yaml",
		"--kubeconfig="+plane.folder+"/admin.kubeconfig",
		"--feature-gates=VisibilityOnDemand=false,MultiKueue=false,TopologyAwareScheduling=false,ElasticJobsViaWorkloadSlices=true")
	if err != nil {
		q.Fatal(err)
	}
	q.Cleanup(func() { kill(process) })
	if err := plane.await(plane.config, fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[0])); err != nil {
		q.Fatal(err, tail("kueue"))
	}
}

func tail(program string) string {
	log, _ := os.ReadFile(plane.folder + "/" + program + ".log")
	return string(log[max(0, len(log)-3000):])
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

// queue makes a queue with as much quota as anybody wants, whose jobs need these checks.
func (q *queue) queue(name string, needed ...string) {
	q.Helper()
	q.queueOf(name, 100000, needed...)
}

// queueOf makes a queue with quota for so many GPUs.
func (q *queue) queueOf(name string, gpus int, needed ...string) {
	q.Helper()
	list := ""
	for _, check := range needed {
		list += "{name: " + check + "},"
	}
	q.create(clusterQueues, "", q.object("kueue.x-k8s.io/v1beta2", "ClusterQueue", fmt.Sprintf(`
metadata: {name: %s}
spec:
  namespaceSelector: {}
  queueingStrategy: BestEffortFIFO
  admissionChecksStrategy: {admissionChecks: [%s]}
  resourceGroups:
  - coveredResources: [nvidia.com/gpu]
    flavors: [{name: h100, resources: [{name: nvidia.com/gpu, nominalQuota: %d}]}]`, name, list, gpus)))
	q.create(localQueues, "default", q.object("kueue.x-k8s.io/v1beta2", "LocalQueue",
		fmt.Sprintf("metadata: {name: %[1]s, namespace: default}\nspec: {clusterQueue: %[1]s}", name)))
}

// submit gives Kueue an Indexed Job, suspended as Kueue's webhook would leave it.
func (q *queue) submit(name, queue string, annotations map[string]string, pods int32, gpus string) {
	q.Helper()
	q.submitWith(name, queue, annotations, pods, gpus, nil)
}

// submitWith also gives the Job itself annotations, for Kueue.
func (q *queue) submitWith(name, queue string, annotations map[string]string, pods int32, gpus string, own map[string]string) {
	q.Helper()
	indexed, suspended := batchv1.IndexedCompletion, true
	quantity := v1.ResourceList{"nvidia.com/gpu": resource.MustParse(gpus)}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: own,
			Labels: map[string]string{"kueue.x-k8s.io/queue-name": queue}},
		Spec: batchv1.JobSpec{Parallelism: &pods, Completions: &pods, CompletionMode: &indexed, Suspend: &suspended,
			Template: v1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: annotations},
				Spec: v1.PodSpec{RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: "trainer",
					Image: "trainer", Resources: v1.ResourceRequirements{Requests: quantity, Limits: quantity}}}}}},
	}
	if _, err := plane.client.BatchV1().Jobs("default").Create(q.Context(), job, metav1.CreateOptions{}); err != nil {
		q.Fatal(err)
	}
}

func (q *queue) found(name string) *batchv1.Job {
	q.Helper()
	job, err := plane.client.BatchV1().Jobs("default").Get(q.Context(), name, metav1.GetOptions{})
	if err != nil {
		q.Fatal(err)
	}
	return job
}

// started waits until Kueue has let the job go, and returns it as it then is.
func (q *queue) started(name string) (job *batchv1.Job) {
	q.Helper()
	waitFor(q.T, 90*time.Second, name+" to be admitted", func() (bool, string) {
		job = q.found(name)
		return !*job.Spec.Suspend, q.describe(name)
	})
	return job
}

// workload returns the workload that Kueue made of a job, of an elastic one that which is not finished; nil as long as
// there is none.
func (q *queue) workload(name string) *unstructured.Unstructured {
	q.Helper()
	list, err := q.client.Resource(workloads).Namespace("default").List(q.Context(), metav1.ListOptions{})
	if err != nil {
		q.Fatal(err)
	}
	for at := range list.Items {
		if slices.ContainsFunc(list.Items[at].GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
			return owner.Name == name
		}) && !condition(&list.Items[at], "Finished") {
			return &list.Items[at]
		}
	}
	return nil
}

func (q *queue) describe(name string) string {
	if workload := q.workload(name); workload != nil {
		return fmt.Sprintf("%v\n%s\n%s", workload.Object["status"], tail("evenkeel-kueue"), tail("kueue"))
	}
	return "no workload\n" + tail("kueue")
}

// rejected waits until Kueue has deactivated the workload, and tells in an event why.
func (q *queue) rejected(name, text string) {
	q.Helper()
	waitFor(q.T, 60*time.Second, name+" to be rejected with "+text, func() (bool, string) {
		workload := q.workload(name)
		if workload == nil {
			return false, "no workload"
		}
		if active, ok, _ := unstructured.NestedBool(workload.Object, "spec", "active"); !ok || active {
			return false, q.describe(name)
		}
		events, err := plane.client.CoreV1().Events("default").List(q.Context(), metav1.ListOptions{
			FieldSelector: "reason=AdmissionCheckRejected,involvedObject.name=" + workload.GetName()})
		if err != nil {
			return false, err.Error()
		}
		return slices.ContainsFunc(events.Items, func(event v1.Event) bool { return strings.Contains(event.Message, text) }),
			fmt.Sprint(events.Items)
	})
	if !*q.found(name).Spec.Suspend {
		q.Errorf("%s is rejected, but runs", name)
	}
}

// states returns the states of a workload's checks by name.
func (q *queue) states(name string) map[string]string {
	q.Helper()
	found := map[string]string{}
	if workload := q.workload(name); workload != nil {
		states, _, _ := unstructured.NestedSlice(workload.Object, "status", "admissionChecks")
		for _, one := range states {
			state := one.(map[string]any)
			found[fmt.Sprint(state["name"])] = fmt.Sprint(state["state"])
		}
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

// TestKueueAdmissionCheck lets Kueue decide on jobs, with the objects of docs/KUEUE.md.
func TestKueueAdmissionCheck(t *testing.T) {
	server := startPlanner(t)
	q := newQueue(t)
	for _, object := range decode(t, "docs/KUEUE.md", fenced(t, "../../../docs/KUEUE.md", "yaml", 0)) {
		q.create(map[string]schema.GroupVersionResource{"AdmissionCheck": checks, "PlanCheckParameters": parameters,
			"ResourceFlavor": flavors}[object.GetKind()], "", object)
	}
	q.check("open", "evenkeel.dev/planner", "open")
	q.check("foreign", "example.com/other", "")
	q.active("plan", "True", "")
	q.active("open", "False", "not found")
	if _, err := q.client.Resource(checks).Patch(t.Context(), "foreign", types.MergePatchType, fmt.Appendf(nil,
		`{"status":{"conditions":[{"type":"Active","status":"True","reason":"Test","message":"","lastTransitionTime":"%s"}]}}`,
		time.Now().UTC().Format(time.RFC3339)), metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	q.queue("training", "plan")
	q.queue("open", "open")
	q.queue("shared", "plan", "foreign")

	q.submit("waits", "open", map[string]string{"evenkeel.dev/model": "llama3-8b"}, 1, "8")
	model := map[string]string{"evenkeel.dev/model": "llama3-70b"}
	q.submit("fits", "training", model, 8, "8")
	template := q.started("fits").Spec.Template
	id := template.Annotations["evenkeel.dev/plan"]
	if answer, err := plannerClient(t).GetPlan(t.Context(), &evenkeelv1.GetPlanRequest{PlanId: id}); err != nil ||
		template.Labels["evenkeel.dev/plan"] != id || answer.GetPlan().GetSubject().GetGpuCount() != 64 ||
		answer.GetPlan().GetSubject().GetGpuType() != "h100-sxm-80gb" {
		t.Errorf("annotations %v, labels %v: %v", template.Annotations, template.Labels, err)
	}
	if template.Spec.NodeSelector["nvidia.com/gpu.product"] != h100 {
		t.Errorf("node selector %v: the flavor is not Kueue's", template.Spec.NodeSelector)
	}
	q.submit("shared", "shared", model, 8, "8")
	waitFor(t, 60*time.Second, "our check of two", func() (bool, string) {
		states := q.states("shared")
		return states["plan"] == "Ready", fmt.Sprint(states)
	})
	if states := q.states("shared"); states["foreign"] != "Pending" || !*q.found("shared").Spec.Suspend {
		t.Errorf("the check of another controller was touched: %v", states)
	}
	q.submit("huge", "training", map[string]string{"evenkeel.dev/model": "llama3.1-405b"}, 1, "8")
	q.rejected("huge", "the job does not fit: ")
	q.submit("typo", "training", map[string]string{"evenkeel.dev/model": "lama"}, 1, "8")
	q.rejected("typo", "job.model.name")
	q.submit("plain", "training", nil, 1, "8")
	if plain := q.started("plain").Spec.Template; plain.Annotations["evenkeel.dev/plan"] != "" {
		t.Errorf("a plan that nobody asked for: %v", plain.Annotations)
	}
	q.kinds()

	server.Kill()
	if !*q.found("waits").Spec.Suspend {
		t.Error("the job was admitted while its check had no parameters")
	}
	q.create(parameters, "", q.object("evenkeel.dev/v1alpha1", "PlanCheckParameters", `
metadata: {name: open}
spec: {onPlannerFailure: Ready}`))
	q.active("open", "True", "")
	if job := q.started("waits"); job.Spec.Template.Annotations["evenkeel.dev/plan"] != "" {
		t.Errorf("a plan from a dead planner: %v", job.Spec.Template.Annotations)
	}
	q.submit("patient", "training", map[string]string{"evenkeel.dev/model": "llama3-8b"}, 2, "8")
	waitFor(t, 60*time.Second, "quota to be given back", func() (bool, string) {
		workload := q.workload("patient")
		if workload == nil {
			return false, "no workload"
		}
		at, evicted, _ := unstructured.NestedString(workload.Object, "status", "requeueState", "requeueAt")
		return evicted && at != "", q.describe("patient")
	})
	server.Start(t)
	if id := q.started("patient").Spec.Template.Annotations["evenkeel.dev/plan"]; id == "" {
		t.Error("admitted without a plan, with a planner")
	}
}

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/client/go/evenkeelv1"
)

var (
	jobSets   = resourceOf("jobset.x-k8s.io/v1alpha2", "jobsets")
	trainJobs = resourceOf("trainer.kubeflow.org/v1alpha1", "trainjobs")
	runtimes  = resourceOf("trainer.kubeflow.org/v1alpha1", "clustertrainingruntimes")
)

// installKinds makes JobSets and TrainJobs known. No controller of theirs runs.
func (q *queue) installKinds() {
	q.Helper()
	folder := os.Getenv("EVENKEEL_JOB_CRDS")
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) < 4 {
		q.Fatalf("EVENKEEL_JOB_CRDS: %q has no CRDs of JobSet and TrainJob; see run.sh", folder)
	}
	for _, file := range files {
		for _, object := range documents(q.T, file) {
			if object.GetKind() == "CustomResourceDefinition" {
				q.create(crds, "", object)
			}
		}
	}
	waitFor(q.T, 30*time.Second, "JobSets and TrainJobs to be served", func() (bool, string) {
		for _, resource := range []schema.GroupVersionResource{jobSets, trainJobs, runtimes} {
			if _, err := q.client.Resource(resource).List(q.Context(), metav1.ListOptions{}); err != nil {
				return false, err.Error()
			}
		}
		return true, ""
	})
	for _, runtime := range documents(q.T, filepath.Join(folder, "torch_distributed.yaml")) {
		q.create(runtimes, "", runtime)
	}
}

// planned returns the plan of that id, which must be for so many GPUs.
func (q *queue) planned(id string, gpus int32) *evenkeelv1.Plan {
	q.Helper()
	answer, err := plannerClient(q.T).GetPlan(q.Context(), &evenkeelv1.GetPlanRequest{PlanId: id})
	if err != nil {
		q.Fatalf("plan %q: %v", id, err)
	}
	if count := answer.GetPlan().GetSubject().GetGpuCount(); count != gpus {
		q.Errorf("%s is for %d GPUs, want %d", id, count, gpus)
	}
	return answer.GetPlan()
}

// message returns what our check says of a workload.
func (q *queue) message(name string) string {
	q.Helper()
	if workload := q.workload(name); workload != nil {
		states, _, _ := unstructured.NestedSlice(workload.Object, "status", "admissionChecks")
		for _, state := range states {
			return fmt.Sprint(state.(map[string]any)["state"], ": ", state.(map[string]any)["message"])
		}
	}
	return ""
}

// partialAdmission: Kueue admits fewer pods than a Job asks for, and the plan is of that size.
func (q *queue) partialAdmission() {
	q.queueOf("small", 40, "plan")
	range8 := map[string]string{"kueue.x-k8s.io/job-min-parallelism": "2",
		"kueue.x-k8s.io/job-completions-equal-parallelism": "true"}
	q.submitWith("shrinks", "small", map[string]string{"evenkeel.dev/model": "llama3-8b"}, 8, "8", range8)
	job := q.started("shrinks")
	if *job.Spec.Parallelism != 5 || *job.Spec.Completions != 5 {
		q.Errorf("admitted with %d of %d pods, want 5", *job.Spec.Parallelism, *job.Spec.Completions)
	}
	plan := q.planned(job.Spec.Template.Annotations["evenkeel.dev/plan"], 40)
	q.placed(job, plan.GetPlanId())

	// Kueue asks quota alone: a size that does not fit is refused with the planner's reason.
	q.queueOf("tiny", 8, "plan")
	q.submitWith("shrinks-too-far", "tiny", map[string]string{"evenkeel.dev/model": "llama3-70b"}, 8, "8",
		map[string]string{"kueue.x-k8s.io/job-min-parallelism": "1"})
	q.rejected("shrinks-too-far", "the job does not fit: ")
}

// placed makes the pods of an Indexed Job, as its controller would, and lets the plugin place them by Kueue's plan.
func (q *queue) placed(job *batchv1.Job, plan string) {
	q.Helper()
	addNodes(q.T, "h100", h100, int(*job.Spec.Parallelism), 8)
	owner := metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))
	for at := range *job.Spec.Parallelism {
		pod := &v1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
		pod.Name, pod.OwnerReferences = fmt.Sprintf("%s-%d", job.Name, at), []metav1.OwnerReference{*owner}
		pod.Labels = map[string]string{"gang": job.Name, "batch.kubernetes.io/job-completion-index": fmt.Sprint(at)}
		pod.Spec.SchedulerName = "evenkeel"
		if _, err := plane.client.CoreV1().Pods("default").Create(q.Context(), pod, metav1.CreateOptions{}); err != nil {
			q.Fatal(err)
		}
	}
	if found := checkGang(q.T, waitBound(q.T, job.Name, int(*job.Spec.Parallelism)), 8); found.GetPlanId() != plan {
		q.Errorf("placed by %s, but Kueue's check gave %s", found.GetPlanId(), plan)
	}
}

// configMaps: the ConfigMap comes after the job that names it, and changes when that was planned.
func (q *queue) configMaps() {
	right := configMapOfThePage(q.T)
	right.Name = "in-queue"
	named := map[string]string{"evenkeel.dev/job-config-map": right.Name}
	q.submit("described", "training", named, 2, "8")
	waitFor(q.T, 30*time.Second, "a workload", func() (bool, string) { return q.workload("described") != nil, tail("kueue") })
	waitWarning(q.T, "AdmissionCheckRetry", q.workload("described").GetName(),
		`plan: annotation evenkeel.dev/job-config-map: namespace default has no ConfigMap "in-queue" with the label`)
	put(q.T, right)
	if plan := q.planned(q.started("described").Spec.Template.Annotations["evenkeel.dev/plan"], 16); plan.GetSubject().
		GetGlobalBatchSamples() != 256 {
		q.Errorf("not planned by the ConfigMap: %v", plan.GetSubject())
	}
	right.Data["job.json"] = `{"modell": {}}`
	put(q.T, right)
	waitWarning(q.T, "JobHasBegun", q.workload("described").GetName(), "ConfigMap in-queue changed after the job was planned")
	q.submit("no-job", "training", named, 2, "8")
	q.rejected("no-job", "ConfigMap in-queue/job.json: neither evenkeel.v1.Job nor PlanJobRequest")
	right = configMapOfThePage(q.T)
	right.Name = "in-queue"
	put(q.T, right)
	if err := q.client.Resource(workloads).Namespace("default").Delete(q.Context(), q.workload("no-job").GetName(),
		metav1.DeleteOptions{}); err != nil {
		q.Fatal(err)
	}
	q.planned(q.started("no-job").Spec.Template.Annotations["evenkeel.dev/plan"], 16)
}

// otherKinds are the JobSet and the TrainJob of docs/KUEUE.md, suspended as Kueue's webhooks would leave them.
func (q *queue) otherKinds() {
	put(q.T, configMapOfThePage(q.T))
	for _, object := range decode(q.T, "docs/KUEUE.md", fenced(q.T, "../../../docs/KUEUE.md", "yaml", 1)) {
		resource := map[string]schema.GroupVersionResource{"JobSet": jobSets, "TrainJob": trainJobs}[object.GetKind()]
		if err := unstructured.SetNestedField(object.Object, true, "spec", "suspend"); err != nil {
			q.Fatal(err)
		}
		// It has no effect on them: they have one size.
		object.SetAnnotations(map[string]string{"kueue.x-k8s.io/job-min-parallelism": "1"})
		q.create(resource, "default", object)
		var started *unstructured.Unstructured
		waitFor(q.T, 90*time.Second, object.GetKind()+" to be admitted", func() (bool, string) {
			var err error
			if started, err = q.client.Resource(resource).Namespace("default").Get(q.Context(), object.GetName(),
				metav1.GetOptions{}); err != nil {
				return false, err.Error()
			}
			suspended, _, _ := unstructured.NestedBool(started.Object, "spec", "suspend")
			return !suspended, q.describe(object.GetName())
		})
		sets, _, _ := unstructured.NestedSlice(q.workload(object.GetName()).Object, "spec", "podSets")
		for _, set := range sets {
			if count, ok := set.(map[string]any)["minCount"]; ok {
				q.Errorf("%s may be admitted smaller, with %v pods: the page says it may not", object.GetKind(), count)
			}
		}
		q.planned(q.planOf(started), map[string]int32{"JobSet": 32, "TrainJob": 16}[object.GetKind()])
	}
}

// planOf returns the plan's id from the one pod template of an object that has it.
func (q *queue) planOf(object *unstructured.Unstructured) (id string) {
	q.Helper()
	templates, _, _ := unstructured.NestedSlice(object.Object, "spec", "podTemplateOverrides")
	path := []string{"metadata", "annotations", "evenkeel.dev/plan"}
	if object.GetKind() == "JobSet" {
		templates, _, _ = unstructured.NestedSlice(object.Object, "spec", "replicatedJobs")
		path = append([]string{"template", "spec", "template"}, path...)
	}
	for _, template := range templates {
		if found, ok, _ := unstructured.NestedString(template.(map[string]any), path...); ok {
			if id != "" {
				q.Errorf("several pod templates have a plan: %v", templates)
			}
			id = found
		}
	}
	if id == "" {
		q.Fatalf("no pod template has a plan: %v", templates)
	}
	return id
}

// condition says whether a workload has it.
func condition(workload *unstructured.Unstructured, kind string) bool {
	conditions, _, _ := unstructured.NestedSlice(workload.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(one any) bool {
		found := one.(map[string]any)
		return found["type"] == kind && found["status"] == "True"
	})
}

// resize changes the size of an Indexed Job that runs.
func (q *queue) resize(name string, pods int32) {
	q.Helper()
	job := q.found(name)
	job.Spec.Parallelism, job.Spec.Completions = &pods, &pods
	if _, err := plane.client.BatchV1().Jobs("default").Update(q.Context(), job, metav1.UpdateOptions{}); err != nil {
		q.Fatal(err)
	}
}

// elasticJob: a Job that grows while it runs is planned anew, a Job that shrinks is not.
func (q *queue) elasticJob() {
	q.submitWith("elastic", "training", map[string]string{"evenkeel.dev/model": "llama3-8b"}, 2, "8",
		map[string]string{"kueue.x-k8s.io/elastic-job": "true"})
	first := q.started("elastic").Spec.Template.Annotations["evenkeel.dev/plan"]
	q.planned(first, 16)
	before := q.workload("elastic").GetName()
	q.resize("elastic", 4)
	waitFor(q.T, 90*time.Second, "the greater size to be admitted", func() (bool, string) {
		now := q.workload("elastic")
		return now != nil && now.GetName() != before && condition(now, "Admitted"), q.describe("elastic")
	})
	text := q.message("elastic")
	id := strings.TrimPrefix(strings.SplitN(text, ": ", 3)[1], "Ready: ")
	q.planned(id, 32)
	if !strings.Contains(text, "keep the annotations of its first size") {
		q.Errorf("what the pods know is not said: %q", text)
	}
	job := q.found("elastic")
	if *job.Spec.Suspend || job.Spec.Template.Annotations["evenkeel.dev/plan"] != first {
		q.Errorf("suspended: %v, annotations %v", *job.Spec.Suspend, job.Spec.Template.Annotations)
	}
	greater := q.workload("elastic").GetName()
	q.resize("elastic", 3)
	waitFor(q.T, 30*time.Second, "the smaller size", func() (bool, string) {
		sets, _, _ := unstructured.NestedSlice(q.workload("elastic").Object, "spec", "podSets")
		return fmt.Sprint(sets[0].(map[string]any)["count"]) == "3", fmt.Sprint(sets)
	})
	if q.workload("elastic").GetName() != greater || q.message("elastic") != text {
		q.Errorf("a Job that shrank was asked for again, which the page denies: %q", q.message("elastic"))
	}
}

// rejectedGrowth: Kueue has given the first Workload's quota away when the check refuses the greater size.
func (q *queue) rejectedGrowth() {
	fixed := map[string]string{"evenkeel.dev/job": `{"model": {"name": "llama3-8b"},
		"cluster": {"pools": [{"gpu_type": "h100-sxm-80gb", "gpu_count": 16}]}}`}
	q.submitWith("grows-too-far", "training", fixed, 2, "8", map[string]string{"kueue.x-k8s.io/elastic-job": "true"})
	q.started("grows-too-far")
	q.resize("grows-too-far", 4)
	waitFor(q.T, 60*time.Second, "the Job to end", func() (bool, string) {
		return *q.found("grows-too-far").Spec.Suspend, q.describe("grows-too-far")
	})
	q.rejected("grows-too-far", "but the pods have 32")
}

// kinds runs the parts of TestKueueAdmissionCheck about sizes and kinds of jobs.
func (q *queue) kinds() {
	q.Run("partial admission", func(t *testing.T) { (&queue{t, q.client}).partialAdmission() })
	q.Run("ConfigMaps", func(t *testing.T) { (&queue{t, q.client}).configMaps() })
	q.Run("JobSet and TrainJob", func(t *testing.T) { (&queue{t, q.client}).otherKinds() })
	q.Run("elastic Job", func(t *testing.T) { (&queue{t, q.client}).elasticJob() })
	q.Run("growth that is rejected", func(t *testing.T) { (&queue{t, q.client}).rejectedGrowth() })
}

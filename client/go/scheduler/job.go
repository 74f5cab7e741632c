package scheduler

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/client/go/evenkeelv1"
)

// Annotations of a pod that the plugin reads. Model, DatasetRef and SpecHash may also be labels.
const (
	// ModelKey: catalogue name of the model.
	ModelKey = "evenkeel.dev/model"
	// DatasetRefKey: dataset that PackDataset left with the planner.
	DatasetRefKey = "evenkeel.dev/dataset-ref"
	// JobKey: the whole evenkeel.v1.Job (or PlanJobRequest) as JSON.
	JobKey = "evenkeel.dev/job"
	// SpecHashKey: identity of the job's description, by whoever wrote it. A new one asks for a new plan.
	SpecHashKey = "evenkeel.dev/spec-hash"
	// GroupKey: name of the group of pods, where nothing else says it.
	GroupKey = "evenkeel.dev/group"
	// PodsKey: how many pods the group has.
	PodsKey = "evenkeel.dev/pods"
	// GPUTypeKey: GPU type that the job must have. On a node: the node's GPU type.
	GPUTypeKey = "evenkeel.dev/gpu-type"
)

// Annotations that the plugin writes.
const (
	// PlanKey: id of the plan.
	PlanKey = "evenkeel.dev/plan"
	// StageKey: pipeline stage of the pod's ranks, "2", or "2-3" where the pod has several.
	StageKey = "evenkeel.dev/stage"
	// RankKey: the first of the pod's ranks; it has one per GPU, consecutively.
	RankKey = "evenkeel.dev/rank"
)

// Labels and annotations by which others number the pods of a job, or group them.
const (
	podGroupLabel = "scheduling.x-k8s.io/pod-group"
	jobSetLabel   = "jobset.sigs.k8s.io/jobset-name"
)

var indexKeys = []string{
	"batch.kubernetes.io/job-completion-index",
	"apps.kubernetes.io/pod-index",
	"leaderworkerset.sigs.k8s.io/worker-index",
	"training.kubeflow.org/replica-index",
}

// podJob is what a pod says about its job.
type podJob struct {
	group    string // whose pods share the plan
	identity string // equal for pods that get the same plan from the same GPUs
	pods     int    // pods of the group
	podGPUs  int64  // GPUs of each
	resource v1.ResourceName
	gpuType  string // required; "" any
	index    int    // place in the group; -1: any
	ownPools bool   // it names its GPUs itself
}

func (j *podJob) gpus() int64 { return int64(j.pods) * j.podGPUs }

func value(pod *v1.Pod, key string) string {
	if text, ok := pod.Annotations[key]; ok {
		return text
	}
	return pod.Labels[key]
}

// wantsPlan says whether the plugin has anything to do with the pod.
func wantsPlan(pod *v1.Pod) bool {
	return value(pod, ModelKey) != "" || pod.Annotations[JobKey] != ""
}

// parsePod reads what a pod says. `gangSize` is the size of its PodGroup; 0: unknown.
func parsePod(pod *v1.Pod, resources []string, gangSize int) (*podJob, error) {
	job := &podJob{group: groupOf(pod), gpuType: pod.Annotations[GPUTypeKey], index: -1}
	for _, name := range resources {
		if count := requested(pod, v1.ResourceName(name)); count > 0 {
			job.resource, job.podGPUs = v1.ResourceName(name), count
			break
		}
	}
	if job.podGPUs == 0 {
		return nil, fmt.Errorf("the pod asks for no GPUs; it must request one of %s", strings.Join(resources, ", "))
	}
	switch text := pod.Annotations[PodsKey]; {
	case text != "":
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 || count > 65536 {
			return nil, fmt.Errorf("annotation %s: %q; accepted: 1 to 65536", PodsKey, text)
		}
		job.pods = count
	case gangSize > 0:
		job.pods = gangSize
	case job.group == soleGroup(pod):
		job.pods = 1
	default:
		return nil, fmt.Errorf("annotation %s: required: how many pods %s has", PodsKey, job.group)
	}
	if job.gpus() > 65536 {
		return nil, fmt.Errorf("%d pods of %d GPUs; accepted: 65536 GPUs at most", job.pods, job.podGPUs)
	}
	for _, key := range indexKeys {
		if index, err := strconv.Atoi(value(pod, key)); err == nil && index >= 0 {
			job.index = index
			break
		}
	}
	job.identity = identityOf(pod)
	job.ownPools = strings.Contains(pod.Annotations[JobKey], `"pools"`)
	return job, nil
}

func requested(pod *v1.Pod, name v1.ResourceName) (sum int64) {
	for i := range pod.Spec.Containers {
		quantity := pod.Spec.Containers[i].Resources.Requests[name]
		sum += quantity.Value()
	}
	return sum
}

// groupOf names the pods that share a plan, first match: an annotation, the PodGroup (in-tree or of the coscheduling
// plugin), the JobSet, the controller (a Job, a StatefulSet), or the pod alone.
func groupOf(pod *v1.Pod) string {
	if name := pod.Annotations[GroupKey]; name != "" {
		return pod.Namespace + "/group/" + name
	}
	if group := pod.Spec.SchedulingGroup; group != nil && group.PodGroupName != nil {
		return pod.Namespace + "/podgroup/" + *group.PodGroupName
	}
	if name := pod.Labels[podGroupLabel]; name != "" {
		return pod.Namespace + "/podgroup/" + name
	}
	if name := pod.Labels[jobSetLabel]; name != "" {
		return pod.Namespace + "/jobset/" + name
	}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return pod.Namespace + "/" + strings.ToLower(owner.Kind) + "/" + owner.Name + "/" + string(owner.UID)
	}
	return soleGroup(pod)
}

func soleGroup(pod *v1.Pod) string { return pod.Namespace + "/pod/" + pod.Name + "/" + string(pod.UID) }

// identityOf is equal for equal jobs. A hash that the pod brings is believed only inside of its group: elsewhere it would
// let one user take another's plan, or give him a wrong one.
func identityOf(pod *v1.Pod) string {
	if hash := value(pod, SpecHashKey); hash != "" {
		return groupOf(pod) + "\x00" + hash
	}
	digest := sha256.New()
	for _, key := range []string{ModelKey, DatasetRefKey, JobKey} {
		text := value(pod, key)
		fmt.Fprintf(digest, "%d:", len(text))
		digest.Write([]byte(text))
	}
	return string(digest.Sum(nil))
}

// buildRequest makes the planner's request of a pod: what its annotations say, on `offers` where they name no GPUs.
func buildRequest(pod *v1.Pod, job *podJob, offers []offer, interNode float64) (*evenkeelv1.PlanJobRequest, error) {
	request, err := decodeJob(pod.Annotations[JobKey])
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", JobKey, err)
	}
	planned := request.GetJob()
	if name := value(pod, ModelKey); name != "" {
		if given := planned.GetModel().GetName(); given != "" && given != name {
			return nil, fmt.Errorf("%s is %q, but model.name in %s is %q; give one", ModelKey, name, JobKey, given)
		}
		if planned.Model == nil {
			planned.Model = &evenkeelv1.Model{}
		}
		planned.Model.Name = name
	}
	if ref := value(pod, DatasetRefKey); ref != "" {
		if planned.Dataset != nil && planned.Dataset.GetDatasetRef() != ref {
			return nil, fmt.Errorf("%s is given, but %s has a dataset too; give one", DatasetRefKey, JobKey)
		}
		planned.Dataset = &evenkeelv1.Dataset{DatasetRef: ref}
	}
	if planned.Cluster == nil {
		planned.Cluster = &evenkeelv1.Cluster{}
	}
	if err := setPools(planned.Cluster, job, offers, interNode); err != nil {
		return nil, err
	}
	if request.Label == "" {
		request.Label = label(job.group)
	}
	return request, nil
}

func setPools(cluster *evenkeelv1.Cluster, job *podJob, offers []offer, interNode float64) error {
	if len(cluster.Pools) == 0 {
		for _, offer := range offers {
			cluster.Pools = append(cluster.Pools, &evenkeelv1.GpuPool{GpuType: offer.gpuType,
				GpusPerNode: int32(offer.gpusPerNode)})
		}
	}
	for at, pool := range cluster.Pools {
		if len(pool.GpuCounts) > 0 || pool.GpuCount != 0 && int64(pool.GpuCount) != job.gpus() {
			return fmt.Errorf("annotation %s: cluster.pools[%d] has %d GPUs, but %d pods of %d GPUs are %d; leave the count out",
				JobKey, at, pool.GpuCount, job.pods, job.podGPUs, job.gpus())
		}
		pool.GpuCount = int32(job.gpus())
		if pool.InterNodeBytesPerSecond == 0 {
			pool.InterNodeBytesPerSecond = interNode
		}
	}
	return nil
}

// decodeJob takes a PlanJobRequest, as deploy/examples has them, or the Job alone. "" is an empty job.
func decodeJob(text string) (*evenkeelv1.PlanJobRequest, error) {
	if text == "" {
		return &evenkeelv1.PlanJobRequest{Job: &evenkeelv1.Job{}}, nil
	}
	request := &evenkeelv1.PlanJobRequest{}
	whole := protojson.Unmarshal([]byte(text), request)
	if whole == nil && request.Job != nil {
		return request, nil
	}
	job := &evenkeelv1.Job{}
	if err := protojson.Unmarshal([]byte(text), job); err != nil {
		if strings.Contains(text, `"job"`) && whole != nil {
			err = whole
		}
		return nil, fmt.Errorf("neither evenkeel.v1.Job nor PlanJobRequest: %w", err)
	}
	return &evenkeelv1.PlanJobRequest{Job: job}, nil
}

// label is the group's name as far as the planner echoes labels: 256 bytes without control characters.
func label(group string) string {
	return group[:min(len(group), 256)]
}

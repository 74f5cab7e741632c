package scheduler

import (
	"crypto/sha256"
	"fmt"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeelv1"
)

// Labels and annotations by which others number the pods of a job, or group them.
const (
	podGroupLabel = "scheduling.x-k8s.io/pod-group"
	jobSetLabel   = "jobset.sigs.k8s.io/jobset-name"
	replicasLabel = "jobset.sigs.k8s.io/replicatedjob-replicas" // Jobs of the JobSet, each with indices of its own
)

var indexKeys = []string{
	"batch.kubernetes.io/job-completion-index",
	"apps.kubernetes.io/pod-index",
	"leaderworkerset.sigs.k8s.io/worker-index",
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
	return annotations.Value(pod.Annotations, pod.Labels, key)
}

// wantsPlan says whether the plugin has anything to do with the pod.
func wantsPlan(pod *v1.Pod) bool {
	return annotations.WantsPlan(pod.Annotations, pod.Labels)
}

// givenPlan returns the id of the plan that others, such as Kueue's check, gave the pod before it had a place; "" none.
// With a rank, this plugin wrote it, for a place that was lost.
func givenPlan(pod *v1.Pod) string {
	if pod.Annotations[annotations.Rank] != "" {
		return ""
	}
	return pod.Annotations[annotations.Plan]
}

// parsePod reads what a pod says. `gangSize` is the size of its PodGroup; 0: unknown.
func parsePod(pod *v1.Pod, resources []string, gangSize int) (*podJob, error) {
	job := &podJob{group: groupOf(pod), gpuType: pod.Annotations[annotations.GPUType], index: -1}
	for _, name := range resources {
		if count := requested(pod, v1.ResourceName(name)); count > 0 {
			job.resource, job.podGPUs = v1.ResourceName(name), count
			break
		}
	}
	if job.podGPUs == 0 {
		return nil, fmt.Errorf("the pod asks for no GPUs; it must request one of %s", strings.Join(resources, ", "))
	}
	switch text := pod.Annotations[annotations.Pods]; {
	case text != "":
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 || count > 65536 {
			return nil, fmt.Errorf("annotation %s: %q; accepted: 1 to 65536", annotations.Pods, text)
		}
		job.pods = count
	case gangSize > 0:
		job.pods = gangSize
	case job.group == soleGroup(pod):
		job.pods = 1
	default:
		return nil, fmt.Errorf("annotation %s: required: how many pods %s has", annotations.Pods, job.group)
	}
	if job.gpus() > 65536 {
		return nil, fmt.Errorf("%d pods of %d GPUs; accepted: 65536 GPUs at most", job.pods, job.podGPUs)
	}
	for _, key := range indexKeys {
		if replicas := pod.Labels[replicasLabel]; replicas != "" && replicas != "1" {
			break
		}
		if index, err := strconv.Atoi(value(pod, key)); err == nil && index >= 0 {
			job.index = index
			break
		}
	}
	job.identity = identityOf(pod)
	job.ownPools = annotations.NamesGPUs(pod.Annotations)
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
// plugin), the JobSet, the controller (a Job, a StatefulSet), or the pod itself.
func groupOf(pod *v1.Pod) string {
	if name := pod.Annotations[annotations.Group]; name != "" {
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

// identityOf returns an identity that is equal for equal jobs. A hash that the pod brings is believed only inside of
// its group: elsewhere it would let one user take another's plan, or give that user a wrong one.
func identityOf(pod *v1.Pod) string {
	if hash := value(pod, annotations.SpecHash); hash != "" {
		return groupOf(pod) + "\x00" + hash
	}
	digest := sha256.New()
	for _, key := range []string{annotations.Model, annotations.DatasetRef, annotations.Job} {
		text := value(pod, key)
		fmt.Fprintf(digest, "%d:", len(text))
		digest.Write([]byte(text))
	}
	return string(digest.Sum(nil))
}

// buildRequest makes the planner's request of a pod: what its annotations say, on `offers` where they name no GPUs.
func buildRequest(pod *v1.Pod, job *podJob, offers []offer, interNode float64) (*evenkeelv1.PlanJobRequest, error) {
	request, err := annotations.Request(pod.Annotations, pod.Labels)
	if err != nil {
		return nil, err
	}
	var pools []*evenkeelv1.GpuPool
	for _, offer := range offers {
		pools = append(pools, &evenkeelv1.GpuPool{GpuType: offer.gpuType, GpusPerNode: int32(offer.gpusPerNode)})
	}
	if err := annotations.SetGPUs(request.Job, job.gpus(), pools, interNode); err != nil {
		return nil, err
	}
	if request.Label == "" {
		request.Label = job.group[:min(len(job.group), 256)] // as long as the planner echoes
	}
	return request, nil
}

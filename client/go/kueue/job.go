package kueue

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeelv1"
)

var gpuResources = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu"}

// Labels of nodes, and so of a flavor's nodeLabels, that name a GPU type; the planner's catalogue knows their values.
var gpuTypeLabels = []string{annotations.GPUType, "nvidia.com/gpu.product", "amd.com/gpu.product-name"}

// workloadJob is what a workload asks the planner for. `podSets` get the plan; if there are none, it asks for nothing.
type workloadJob struct {
	request *evenkeelv1.PlanJobRequest
	podSets []kueue.PodSetReference
	podGPUs int64 // of the largest pod
	pods    int64 // that Kueue admitted
}

// badWorkload is an error that another try does not mend.
type badWorkload struct{ error }

// jobOf reads the pod sets that describe a job; all that do must describe the same. GPUs are those of their pods as they
// were admitted, of the type of the flavor that Kueue gave them.
func jobOf(ctx context.Context, reader client.Reader, workload *kueue.Workload, parameters *Parameters) (*workloadJob,
	error) {
	job := &workloadJob{}
	var first *kueue.PodSet
	var said map[string]string // by the annotations of the first, which are those of all
	var gpus, most int64
	var gpuType string
	for at := range workload.Spec.PodSets {
		set := &workload.Spec.PodSets[at]
		if !annotations.WantsPlan(set.Template.Annotations, set.Template.Labels) {
			continue
		}
		if first == nil {
			var err error
			if said, err = resolved(ctx, reader, workload.Namespace, set); err != nil {
				return nil, err
			}
			first = set
		} else if key := differs(first, set); key != "" {
			return nil, badWorkload{fmt.Errorf("pod sets %s and %s differ in %s: a job has one plan", first.Name, set.Name, key)}
		}
		resource, count := gpusOf(&set.Template.Spec)
		if count == 0 {
			return nil, badWorkload{fmt.Errorf("pod set %s asks for no GPUs, but for a plan", set.Name)}
		}
		assigned := assignment(workload, set.Name)
		if assigned == nil {
			return nil, fmt.Errorf("pod set %s has no quota yet", set.Name)
		}
		pods := int64(set.Count)
		if assigned.Count != nil {
			pods = int64(*assigned.Count)
		}
		named, err := typeOf(ctx, reader, string(assigned.Flavors[resource]), set, said, parameters)
		if err != nil {
			return nil, err
		}
		if gpuType != "" && named != gpuType {
			return nil, badWorkload{fmt.Errorf("pod sets have GPUs of types %s and %s: a job never mixes types", gpuType, named)}
		}
		gpuType, gpus, most = named, gpus+pods*count, max(most, count)
		job.podSets, job.podGPUs, job.pods = append(job.podSets, set.Name), most, job.pods+pods
	}
	if first == nil {
		return job, nil
	}
	var err error
	if job.request, err = annotations.Request(said, first.Template.Labels); err != nil {
		return nil, badWorkload{err}
	}
	pools := []*evenkeelv1.GpuPool{{GpuType: gpuType, GpusPerNode: int32(perNode(gpus, most, parameters))}}
	if err := annotations.SetGPUs(job.request.Job, gpus, pools, parameters.InterNodeBytesPerSecond); err != nil {
		return nil, badWorkload{err}
	}
	if job.request.Label == "" {
		label := workload.Namespace + "/" + workload.Name
		job.request.Label = label[:min(len(label), 256)]
	}
	return job, nil
}

// perNode returns how many GPUs of a node the job uses: equal nodes, or a part of one.
func perNode(gpus, pod int64, parameters *Parameters) int64 {
	node := int64(parameters.GPUsPerNode)
	if node == 0 {
		node = max(8, pod)
	}
	for node = min(node, gpus); gpus%node != 0; node-- {
	}
	return node
}

func differs(a, b *kueue.PodSet) string {
	for _, key := range []string{annotations.Model, annotations.DatasetRef, annotations.Job,
		annotations.JobConfigMap, annotations.SpecHash} {
		if annotations.Value(a.Template.Annotations, a.Template.Labels, key) !=
			annotations.Value(b.Template.Annotations, b.Template.Labels, key) {
			return key
		}
	}
	return ""
}

// gpusOf sums what the containers request. A limit alone is a request too: the API server fills that in for pods, but not
// for the templates of jobs.
func gpusOf(spec *corev1.PodSpec) (name corev1.ResourceName, sum int64) {
	for _, name = range gpuResources {
		for at := range spec.Containers {
			resources := spec.Containers[at].Resources
			quantity, ok := resources.Requests[name]
			if !ok {
				quantity = resources.Limits[name]
			}
			sum += quantity.Value()
		}
		if sum > 0 {
			return name, sum
		}
	}
	return "", 0
}

func assignment(workload *kueue.Workload, name kueue.PodSetReference) *kueue.PodSetAssignment {
	if workload.Status.Admission == nil {
		return nil
	}
	for at := range workload.Status.Admission.PodSetAssignments {
		if workload.Status.Admission.PodSetAssignments[at].Name == name {
			return &workload.Status.Admission.PodSetAssignments[at]
		}
	}
	return nil
}

// typeOf returns the GPU type of a flavor: what the parameters say, or the flavor's node labels, or the pods' node
// selector; no type of its own where the job that is `said` names its GPUs.
func typeOf(ctx context.Context, reader client.Reader, flavor string, set *kueue.PodSet, said map[string]string,
	parameters *Parameters) (string, error) {
	if annotations.NamesGPUs(said) {
		return "named by the job", nil
	}
	if named := parameters.GPUTypes[flavor]; named != "" {
		return named, nil
	}
	found := &kueue.ResourceFlavor{}
	if err := reader.Get(ctx, client.ObjectKey{Name: flavor}, found); err != nil {
		return "", fmt.Errorf("ResourceFlavor %q of pod set %s: %w", flavor, set.Name, err)
	}
	for _, key := range gpuTypeLabels {
		for _, labels := range []map[string]string{found.Spec.NodeLabels, set.Template.Spec.NodeSelector} {
			if product := labels[key]; product != "" {
				return strings.ReplaceAll(product, "_", "-"), nil
			}
		}
	}
	return "", errors.New("ResourceFlavor " + flavor + " names no GPU type: give it the node label " + gpuTypeLabels[1] +
		", or name its type in gpuTypes of the check's parameters")
}

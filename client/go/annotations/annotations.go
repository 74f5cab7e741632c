// Package annotations reads a training job from the annotations of Kubernetes objects, for all programs that ask for
// plans there.
package annotations

import (
	"fmt"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"

	"evenkeel.dev/client/go/evenkeelv1"
)

// Annotations that describe a job. Model, DatasetRef and SpecHash may also be labels.
const (
	// Model: catalogue name of the model.
	Model = "evenkeel.dev/model"
	// DatasetRef: dataset that PackDataset left with the planner.
	DatasetRef = "evenkeel.dev/dataset-ref"
	// Job: the whole evenkeel.v1.Job (or PlanJobRequest) as JSON.
	Job = "evenkeel.dev/job"
	// SpecHash: identity of the job's description, by whoever wrote it. A new one asks for a new plan.
	SpecHash = "evenkeel.dev/spec-hash"
	// Group: name of the group of pods, where nothing else says it.
	Group = "evenkeel.dev/group"
	// Pods: how many pods the group has.
	Pods = "evenkeel.dev/pods"
	// GPUType: GPU type that the job must have. On a node: the node's GPU type.
	GPUType = "evenkeel.dev/gpu-type"
)

// Annotations that tell a pod of its plan.
const (
	// Plan: id of the plan.
	Plan = "evenkeel.dev/plan"
	// Stage: pipeline stage of the pod's ranks, "2", or "2-3" where the pod has several.
	Stage = "evenkeel.dev/stage"
	// Rank: the first of the pod's ranks; it has one per GPU, consecutively.
	Rank = "evenkeel.dev/rank"
)

// Value reads a key that may be an annotation or a label.
func Value(annotations, labels map[string]string, key string) string {
	if text, ok := annotations[key]; ok {
		return text
	}
	return labels[key]
}

// WantsPlan says whether an object describes a job at all.
func WantsPlan(annotations, labels map[string]string) bool {
	return Value(annotations, labels, Model) != "" || annotations[Job] != "" || annotations[JobConfigMap] != ""
}

// Request is what the annotations, after Resolve, ask the planner for. The GPUs may be missing: SetGPUs adds them.
func Request(annotations, labels map[string]string) (*evenkeelv1.PlanJobRequest, error) {
	if annotations[Job] == "" && annotations[JobConfigMap] != "" {
		return nil, fmt.Errorf("annotation %s: %s was not read", JobConfigMap, jobPlace(annotations))
	}
	request, err := decode(annotations[Job])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", jobPlace(annotations), err)
	}
	job := request.GetJob()
	if name := Value(annotations, labels, Model); name != "" {
		if given := job.GetModel().GetName(); given != "" && given != name {
			return nil, fmt.Errorf("%s is %q, but model.name in %s is %q; give one", Model, name, jobPlace(annotations), given)
		}
		if job.Model == nil {
			job.Model = &evenkeelv1.Model{}
		}
		job.Model.Name = name
	}
	if ref := Value(annotations, labels, DatasetRef); ref != "" {
		if job.Dataset != nil && job.Dataset.GetDatasetRef() != ref {
			return nil, fmt.Errorf("%s is given, but %s has a dataset too; give one", DatasetRef, jobPlace(annotations))
		}
		job.Dataset = &evenkeelv1.Dataset{DatasetRef: ref}
	}
	return request, nil
}

// SetGPUs puts the job on `gpus` GPUs of the pools, unless it names pools itself; their counts must then agree.
// `interNode` is the bandwidth in bytes per second of pools that do not say; 0 is the planner's default.
func SetGPUs(job *evenkeelv1.Job, gpus int64, pools []*evenkeelv1.GpuPool, interNode float64) error {
	if job.Cluster == nil {
		job.Cluster = &evenkeelv1.Cluster{}
	}
	if len(job.Cluster.Pools) == 0 {
		job.Cluster.Pools = pools
	}
	for at, pool := range job.Cluster.Pools {
		if len(pool.GpuCounts) > 0 || pool.GpuCount != 0 && int64(pool.GpuCount) != gpus {
			return fmt.Errorf("the job's cluster.pools[%d] says how many GPUs, but the pods have %d; leave the count out", at, gpus)
		}
		pool.GpuCount = int32(gpus)
		tiers := pool.GetNetworkTiers()
		if stated := len(tiers) > 1 && tiers[1].GetBytesPerSecond() != 0; pool.InterNodeBytesPerSecond == 0 && !stated {
			pool.InterNodeBytesPerSecond = interNode
		}
	}
	return nil
}

// RanksOfADomain returns how many consecutive ranks must share a unit of a network tier that is wider than a node, such as
// a scale-up domain. 1: none must, and what a node holds of them is all that matters.
func RanksOfADomain(plan *evenkeelv1.Plan) int {
	ranks := 1
	for _, tier := range plan.GetPlacement().GetTiers() {
		if tier.GetRequiredRanks() > plan.GetPlacement().GetGpusPerNode() {
			ranks = max(ranks, int(tier.GetRequiredRanks()))
		}
	}
	return ranks
}

// TopologyText says which pods the plan keeps together, for a person; "" where that is only nodes.
func TopologyText(plan *evenkeelv1.Plan, podGPUs int64) string {
	var parts []string
	for _, tier := range plan.GetPlacement().GetTiers() {
		pods := func(ranks int32) int64 { return max(int64(ranks)/max(podGPUs, 1), 1) }
		if pods(tier.GetRankCount()) < 2 || tier.GetUnitCount() < 1 {
			continue
		}
		part := fmt.Sprintf("%d consecutive pods are planned in one %s", pods(tier.GetRankCount()), tier.GetName())
		if pods(tier.GetRequiredRanks()) > 1 {
			part += fmt.Sprintf(", and %d must be", pods(tier.GetRequiredRanks()))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ")
}

// NamesGPUs says whether the job names pools of GPUs itself. It looks, but does not parse.
func NamesGPUs(annotations map[string]string) bool {
	return strings.Contains(annotations[Job], `"pools"`)
}

// decode takes a PlanJobRequest, as deploy/examples has them, or only the Job. "" is an empty job.
func decode(text string) (*evenkeelv1.PlanJobRequest, error) {
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
		if whole != nil && strings.Contains(text, `"job"`) {
			err = whole
		}
		return nil, fmt.Errorf("neither evenkeel.v1.Job nor PlanJobRequest: %w", err)
	}
	return &evenkeelv1.PlanJobRequest{Job: job}, nil
}

// MisfitText says why a job does not fit and what would make it fit, for a person.
func MisfitText(plan *evenkeelv1.Plan) string {
	text := plan.GetMisfit().GetText()
	for at, remedy := range plan.GetMisfit().GetRemedies() {
		if at == 0 {
			text += " It would fit with: "
		} else {
			text += "; "
		}
		text += remedy.GetText()
	}
	return text
}

package kueue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// ControllerName is what AdmissionCheck.spec.controllerName must be.
const ControllerName = "evenkeel.dev/planner"

// ParametersKind is the kind of object that AdmissionCheck.spec.parameters may name (config/crd.yaml).
var ParametersKind = schema.GroupVersionKind{Group: "evenkeel.dev", Version: "v1alpha1", Kind: "PlanCheckParameters"}

// FailurePolicy says what becomes of a workload while the planner can not be asked.
type FailurePolicy string

const (
	// FailureRetry gives the quota back and tries again.
	FailureRetry FailurePolicy = "Retry"
	// FailureReady admits the workload without a plan.
	FailureReady FailurePolicy = "Ready"
)

// Parameters are the spec of PlanCheckParameters.
type Parameters struct {
	// OnPlannerFailure: Retry or Ready. Default: Retry.
	OnPlannerFailure FailurePolicy `json:"onPlannerFailure,omitempty"`
	// RetryAfterSeconds before a workload without a plan is looked at again. Range: 1 to 86400. Default: 30.
	RetryAfterSeconds int32 `json:"retryAfterSeconds,omitempty"`
	// GPUsPerNode of jobs that do not name their pools. Range: 1 to 1024. Default: 8, or the pod's GPUs where those are
	// more.
	GPUsPerNode int32 `json:"gpusPerNode,omitempty"`
	// GPUTypes: GPU types of the planner by ResourceFlavor, where the flavor's node labels do not name one.
	GPUTypes map[string]string `json:"gpuTypes,omitempty"`
	// InterNodeBytesPerSecond: bandwidth between nodes, per GPU and direction, of jobs that do not say. Range: 1e7 to
	// 1e13. Default: the planner's.
	InterNodeBytesPerSecond float64 `json:"interNodeBytesPerSecond,omitempty"`
}

func (p *Parameters) retryAfter() time.Duration {
	return time.Duration(p.RetryAfterSeconds) * time.Second
}

// setDefaults fills in what is unset and returns everything that is wrong, joined.
func (p *Parameters) setDefaults() error {
	var faults []error
	if p.OnPlannerFailure == "" {
		p.OnPlannerFailure = FailureRetry
	}
	if p.OnPlannerFailure != FailureRetry && p.OnPlannerFailure != FailureReady {
		faults = append(faults, fmt.Errorf("onPlannerFailure: %q; accepted: Retry, Ready", p.OnPlannerFailure))
	}
	if p.RetryAfterSeconds == 0 {
		p.RetryAfterSeconds = 30
	}
	if p.RetryAfterSeconds < 1 || p.RetryAfterSeconds > 86400 {
		faults = append(faults, fmt.Errorf("retryAfterSeconds: %d; accepted: 1 to 86400", p.RetryAfterSeconds))
	}
	if p.GPUsPerNode < 0 || p.GPUsPerNode > 1024 {
		faults = append(faults, fmt.Errorf("gpusPerNode: %d; accepted: 1 to 1024", p.GPUsPerNode))
	}
	if rate := p.InterNodeBytesPerSecond; rate != 0 && (rate < 1e7 || rate > 1e13) {
		faults = append(faults, fmt.Errorf("interNodeBytesPerSecond: %g; accepted: 1e7 to 1e13", rate))
	}
	return errors.Join(faults...)
}

// parametersOf reads the parameters of a check; without any it has the defaults.
func parametersOf(ctx context.Context, reader client.Reader, check *kueue.AdmissionCheck) (*Parameters, error) {
	found := &Parameters{}
	if reference := check.Spec.Parameters; reference != nil {
		if reference.APIGroup != ParametersKind.Group || reference.Kind != ParametersKind.Kind {
			return nil, fmt.Errorf("parameters are %s of %q; accepted: %s of %q", reference.Kind, reference.APIGroup,
				ParametersKind.Kind, ParametersKind.Group)
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(ParametersKind)
		if err := reader.Get(ctx, client.ObjectKey{Name: reference.Name}, object); err != nil {
			return nil, err
		}
		text, err := json.Marshal(object.Object["spec"])
		if err != nil {
			return nil, err
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(found); err != nil {
			return nil, fmt.Errorf("%s %s: %w", ParametersKind.Kind, reference.Name, err)
		}
	}
	return found, found.setDefaults()
}

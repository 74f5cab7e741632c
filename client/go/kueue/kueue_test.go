package kueue

import (
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"evenkeel.dev/client/go/annotations"
	"evenkeel.dev/client/go/evenkeel"
)

func podSet(name string, with map[string]string) kueue.PodSet {
	return kueue.PodSet{Name: kueue.PodSetReference(name), Count: 1,
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: with}}}
}

func TestEveryFailureHasItsState(t *testing.T) {
	for name, test := range map[string]struct {
		err    error
		policy FailurePolicy
		want   kueue.CheckState
	}{
		"wrong request":   {&evenkeel.Error{Code: codes.InvalidArgument}, FailureReady, kueue.CheckStateRejected},
		"time limit":      {&evenkeel.Error{Code: codes.DeadlineExceeded, Reason: evenkeel.ReasonPlanTimeLimit}, FailureReady, kueue.CheckStateRejected},
		"dataset to come": {&evenkeel.Error{Code: codes.NotFound}, FailureReady, kueue.CheckStateRetry},
		"away":            {&evenkeel.Error{Code: codes.Unavailable}, FailureRetry, kueue.CheckStateRetry},
		"away, open":      {&evenkeel.Error{Code: codes.Unavailable}, FailureReady, kueue.CheckStateReady},
		"certificate":     {&evenkeel.Error{Code: codes.Unauthenticated}, FailureRetry, kueue.CheckStateRetry},
		"workload":        {badWorkload{&evenkeel.Error{Code: codes.Unavailable}}, FailureReady, kueue.CheckStateRejected},
	} {
		parameters := &Parameters{OnPlannerFailure: test.policy}
		if err := parameters.setDefaults(); err != nil {
			t.Fatal(err)
		}
		state := &kueue.AdmissionCheckState{State: kueue.CheckStatePending}
		decide(state, test.err, parameters)
		if state.State != test.want || state.Message == "" ||
			(state.RequeueAfterSeconds != nil) != (test.want == kueue.CheckStateRetry) {
			t.Errorf("%s: %+v, want %s", name, state, test.want)
		}
	}
}

func TestUpdatesOnlyAdd(t *testing.T) {
	workload := &kueue.Workload{Spec: kueue.WorkloadSpec{PodSets: []kueue.PodSet{
		podSet("main", map[string]string{annotations.Model: "m"}), podSet("driver", nil)}}}
	state, job := &kueue.AdmissionCheckState{}, &workloadJob{podSets: []kueue.PodSetReference{"main"}, pods: 5}
	if clash := update(state, workload, job, "plan-1"); clash != "" || len(state.PodSetUpdates) != 1 ||
		state.PodSetUpdates[0].Labels[annotations.Plan] != "plan-1" || len(state.PodSetUpdates[0].Labels) != 1 ||
		state.PodSetUpdates[0].Annotations[annotations.Plan] != "plan-1" ||
		state.PodSetUpdates[0].Annotations[annotations.Pods] != "5" {
		t.Errorf("%q, %v", clash, state.PodSetUpdates)
	}
	said := workload.Spec.PodSets[0].Template.Annotations
	for key, text := range map[string]string{annotations.Plan: "plan-0", annotations.Pods: "8"} {
		said[key] = text
		if clash := update(state, workload, job, "plan-1"); !strings.Contains(clash, key) || !strings.Contains(clash, text) {
			t.Errorf("a clash, at which Kueue fails the admission, is not told: %q", clash)
		}
		delete(said, key)
	}
	said[annotations.Pods] = "5" // nothing to add
	if clash := update(state, workload, job, "plan-1"); clash != "" || len(state.PodSetUpdates[0].Annotations) != 1 {
		t.Errorf("%q, %v", clash, state.PodSetUpdates)
	}
	// A Job that runs and grows has what its first size was given, which can not change.
	said[annotations.Plan], said[annotations.Pods] = "plan-0", "2"
	workload.Annotations = map[string]string{sliceOf: "default/before"}
	if clash := update(state, workload, job, "plan-1"); clash != "" || state.PodSetUpdates[0].Annotations != nil {
		t.Errorf("%q, %v", clash, state.PodSetUpdates)
	}
}

func TestLimitsAreRequests(t *testing.T) {
	gpus := func(count string) corev1.ResourceList {
		return corev1.ResourceList{"nvidia.com/gpu": resource.MustParse(count)}
	}
	spec := &corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Limits: gpus("4")}},
		{Resources: corev1.ResourceRequirements{Requests: gpus("2"), Limits: gpus("2")}}, {}}}
	if name, sum := gpusOf(spec); name != "nvidia.com/gpu" || sum != 6 {
		t.Errorf("%d of %q", sum, name)
	}
}

func TestMessagesFitIntoTheAPI(t *testing.T) {
	short := shorten(strings.Repeat("ä", maxMessage), maxMessage)
	if len(short) > maxMessage || len(short) < maxMessage-8 || !utf8.ValidString(short) {
		t.Errorf("%d bytes, valid %v", len(short), utf8.ValidString(short))
	}
}

func TestParametersNameEveryFault(t *testing.T) {
	err := (&Parameters{OnPlannerFailure: "Maybe", RetryAfterSeconds: -1, GPUsPerNode: 2000,
		InterNodeBytesPerSecond: 1}).setDefaults()
	for _, field := range []string{"onPlannerFailure", "retryAfterSeconds", "gpusPerNode", "interNodeBytesPerSecond"} {
		if err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s is not named: %v", field, err)
		}
	}
}

func TestPlannedNodesAreEqual(t *testing.T) {
	for _, test := range []struct{ gpus, pod, want int64 }{{64, 8, 8}, {4, 4, 4}, {12, 4, 6}, {16, 16, 16}, {7, 1, 7}} {
		if got := perNode(test.gpus, test.pod, &Parameters{}); got != test.want {
			t.Errorf("%d GPUs in pods of %d: nodes of %d, want %d", test.gpus, test.pod, got, test.want)
		}
	}
}

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

func planless(t *testing.T, placed []v1.Pod) {
	t.Helper()
	for _, pod := range placed {
		if pod.Annotations["evenkeel.dev/plan"] != "" {
			t.Errorf("%s has a plan without a planner", pod.Name)
		}
	}
}

func TestPlannerDiesAndComesBackFailOpen(t *testing.T) {
	server := startPlanner(t)
	addNodes(t, "h100", h100, 24, 8)
	known := gangSpec{name: "before", profile: "evenkeel", model: "llama3-8b", pods: 4, gpus: 8, annotations: batch(201)}
	create(t, known)
	checkGang(t, waitBound(t, "before", 4), 8)

	server.Kill()
	known.name = "remembered"
	create(t, known)
	remembered := waitBound(t, "remembered", 4)
	unknown := gangSpec{name: "during", profile: "evenkeel", model: "llama3-8b", pods: 4, gpus: 8, annotations: batch(202)}
	create(t, unknown)
	planless(t, waitBound(t, "during", 4))

	server.Start(t)
	checkGangAgain(t, remembered, known)
	time.Sleep(5 * time.Second) // failureTTL and breakerCooldown
	unknown.name, unknown.annotations = "after", batch(203)
	create(t, unknown)
	checkGang(t, waitBound(t, "after", 4), 8)
}

// A restart costs no gang its plan: the call waits for the planner.
func TestPlannerRestarts(t *testing.T) {
	server := startPlanner(t)
	addNodes(t, "h100", h100, 4, 4)
	server.Kill()
	gang := gangSpec{name: "meanwhile", profile: "evenkeel", model: "llama3-8b", pods: 4, gpus: 8, annotations: batch(207)}
	create(t, gang)
	time.Sleep(3 * time.Second)
	server.Start(t)
	checkGang(t, waitBound(t, "meanwhile", 4), 8)
}

// checkGangAgain checks a gang whose plan the server lost when it died: the same job gives the same plan.
func checkGangAgain(t *testing.T, placed []v1.Pod, spec gangSpec) {
	t.Helper()
	for _, pod := range placed {
		if pod.Annotations["evenkeel.dev/plan"] == "" {
			t.Errorf("%s has no plan, although %s had one before", pod.Name, spec.name)
		}
	}
}

func TestPlannerIsAwayFailClosed(t *testing.T) {
	server := startPlanner(t)
	server.Kill()
	addNodes(t, "h100", h100, 8, 8)
	gang := gangSpec{name: "patient", profile: "evenkeel-closed", model: "llama3-8b", pods: 8, gpus: 8,
		annotations: batch(204)}
	create(t, gang)
	waitEvent(t, "patient-0", "the planner can not be asked")
	time.Sleep(12 * time.Second) // longer than a failed call is remembered
	for _, pod := range pods(t, "patient") {
		if pod.Spec.NodeName != "" {
			t.Fatalf("%s got a node without a plan", pod.Name)
		}
	}
	server.Start(t)
	started := time.Now()
	checkGang(t, waitBound(t, "patient", 8), 8)
	log, err := os.ReadFile(filepath.Join(plane.folder, "evenkeel-scheduler.log"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(log), "Error selecting node") {
		t.Error("to kube-scheduler a pod that waits for its plan is an error")
	}
	t.Logf("all pods placed %.1f s after the planner came back", time.Since(started).Seconds())
}

func TestPlannerDiesInTheMiddleOfAGang(t *testing.T) {
	server := startPlanner(t)
	addNodes(t, "h100", h100, 4, 4)
	gang := gangSpec{name: "torn", profile: "evenkeel", model: "llama3-8b", pods: 4, gpus: 8, annotations: batch(205)}
	create(t, gang, 0, 1)
	waitBound(t, "torn", 2)
	server.Kill()
	create(t, gang, 2, 3)
	placed := waitBound(t, "torn", 4)
	for at, pod := range placed {
		if rank(&pod) != 8*at {
			t.Errorf("%s has rank %d", pod.Name, rank(&pod))
		}
	}
	create(t, gangSpec{name: "torn2", profile: "evenkeel-closed", model: "llama3-8b", pods: 1, gpus: 8,
		annotations: batch(206)})
	waitEvent(t, "torn2-0", "the planner can not be asked")
}

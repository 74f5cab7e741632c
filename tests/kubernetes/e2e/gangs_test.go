package e2e

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	schedulingv1alpha2 "k8s.io/api/scheduling/v1alpha2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// batch makes jobs differ from those of other tests, whose plans the scheduler remembers.
func batch(samples int) map[string]string {
	return map[string]string{"evenkeel.dev/job": fmt.Sprintf(`{"training":{"global_batch_samples":%d}}`, samples)}
}

func TestGangIsPlacedByItsPlan(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 24, 8)
	gang := gangSpec{name: "whole", profile: "evenkeel", model: "llama3-70b", pods: 8, gpus: 8, annotations: batch(101)}
	create(t, gang)
	placed := waitBound(t, "whole", 8)
	plan := checkGang(t, placed, 8)
	if plan.GetParallelism().GetPipeline() < 2 {
		t.Errorf("the plan has one stage: it shows nothing about stages")
	}
	leaves := map[string]int{}
	for _, pod := range placed {
		node, err := plane.client.CoreV1().Nodes().Get(t.Context(), pod.Spec.NodeName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		leaves[node.Labels["network.topology.nvidia.com/leaf"]]++
	}
	if len(leaves) != 1 {
		t.Errorf("a job that fits under one leaf switch lies under %v", leaves)
	}
}

func TestRanksOfOneGroupShareANode(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 6, 3)
	// One GPU per pod, and a tensor-parallel degree that spreads over pods.
	gang := gangSpec{name: "single", profile: "evenkeel", model: "llama3-70b", pods: 32, gpus: 1,
		annotations: map[string]string{"evenkeel.dev/job": `{"constraints":{"tensor_parallel":{"min":4,"max":4}}}`}}
	create(t, gang)
	plan := checkGang(t, waitBound(t, "single", 32), 1)
	if plan.GetPlacement().GetColocatedRanks() != 4 {
		t.Errorf("%d ranks share a node; the test means 4", plan.GetPlacement().GetColocatedRanks())
	}
}

func TestPodGroupOfTheAPIServer(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 4, 4)
	groups := plane.client.SchedulingV1alpha2().PodGroups("default")
	_, err := groups.Create(t.Context(), &schedulingv1alpha2.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "intree"},
		Spec: schedulingv1alpha2.PodGroupSpec{SchedulingPolicy: schedulingv1alpha2.PodGroupSchedulingPolicy{
			Gang: &schedulingv1alpha2.GangSchedulingPolicy{MinCount: 4}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = groups.Delete(context.Background(), "intree", metav1.DeleteOptions{}) })
	name := "intree"
	gang := gangSpec{name: "intree", profile: "evenkeel", model: "llama3-8b", pods: 4, gpus: 8, annotations: batch(102),
		edit: func(pod *v1.Pod) {
			delete(pod.Annotations, "evenkeel.dev/pods") // the PodGroup says it
			delete(pod.Labels, "scheduling.x-k8s.io/pod-group")
			pod.Spec.SchedulingGroup = &v1.PodSchedulingGroup{PodGroupName: &name}
		}}
	create(t, gang)
	checkGang(t, waitBound(t, "intree", 4), 8)
}

func TestIndexOfTheJobIsTheRank(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 4, 4)
	gang := gangSpec{name: "indexed", profile: "evenkeel", model: "llama3-8b", pods: 4, gpus: 8, annotations: batch(103)}
	gang.edit = func(pod *v1.Pod) {
		pod.Labels["batch.kubernetes.io/job-completion-index"] = pod.Name[len("indexed-"):]
	}
	create(t, gang, 3, 1, 2, 0)
	for at, pod := range waitBound(t, "indexed", 4) {
		if pod.Name != fmt.Sprintf("indexed-%d", at) {
			t.Errorf("%s has rank %d", pod.Name, rank(&pod))
		}
	}
}

func TestReplacementTakesTheFreeRank(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 5, 5)
	gang := gangSpec{name: "mended", profile: "evenkeel", model: "llama3-8b", pods: 4, gpus: 8, annotations: batch(104)}
	create(t, gang)
	before := waitBound(t, "mended", 4)
	gone := before[2]
	if err := plane.client.CoreV1().Pods("default").Delete(t.Context(), gone.Name,
		metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		t.Fatal(err)
	}
	create(t, gang, 17)
	after := waitBound(t, "mended", 4)
	checkGang(t, after, 8)
	if after[2].Name != "mended-17" {
		t.Errorf("rank %d went to %s", rank(&after[2]), after[2].Name)
	}
}

func TestImpossibleJobIsRefusedWithItsReason(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 2, 2)
	create(t, gangSpec{name: "huge", profile: "evenkeel", model: "llama3.1-405b", pods: 1, gpus: 8})
	waitEvent(t, "huge-0", "the job does not fit: ")
	waitEvent(t, "huge-0", "It would fit with: ")
	create(t, gangSpec{name: "crowd", profile: "evenkeel", model: "llama3-8b", pods: 3, gpus: 8})
	waitEvent(t, "crowd-0", "the cluster has no nodes of a type that the planner knows for 3 pods of 8 nvidia.com/gpu")
	for _, pod := range pods(t, "") {
		if pod.Spec.NodeName != "" {
			t.Errorf("%s got a node", pod.Name)
		}
	}
}

func TestWrongJobIsRefusedAndItsCorrectionTaken(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 2, 2)
	create(t, gangSpec{name: "typo", profile: "evenkeel", model: "lama3-8b", pods: 1, gpus: 8})
	waitEvent(t, "typo-0", "job.model.name")
	patch := []byte(`{"metadata":{"annotations":{"evenkeel.dev/model":"llama3-8b"}}}`)
	if _, err := plane.client.CoreV1().Pods("default").Patch(t.Context(), "typo-0", types.MergePatchType, patch,
		metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	checkGang(t, waitBound(t, "typo", 1), 8)
	create(t, gangSpec{name: "broken", profile: "evenkeel", pods: 1, gpus: 8,
		annotations: map[string]string{"evenkeel.dev/job": `{"modell":{}}`}})
	waitEvent(t, "broken-0", "evenkeel.dev/job")
}

func TestGPUsThatAreFreeDecide(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 2, 2)
	addNodes(t, "a100", a100, 2, 2)
	first := gangSpec{name: "first", profile: "evenkeel", model: "llama3-8b", pods: 2, gpus: 8, annotations: batch(105)}
	create(t, first)
	if plan := checkGang(t, waitBound(t, "first", 2), 8); plan.GetSubject().GetGpuType() != "h100-sxm-80gb" {
		t.Errorf("an empty cluster gives %s", plan.GetSubject().GetGpuType())
	}
	second := first
	second.name = "second"
	create(t, second)
	placed := waitBound(t, "second", 2)
	if plan := checkGang(t, placed, 8); plan.GetSubject().GetGpuType() != "a100-sxm-80gb" ||
		!strings.HasPrefix(placed[0].Spec.NodeName, "a100") {
		t.Errorf("with no H100 free: %s on %s", plan.GetSubject().GetGpuType(), placed[0].Spec.NodeName)
	}
}

func TestOtherPodsAreLeftAlone(t *testing.T) {
	addNodes(t, "h100", h100, 2, 2)
	create(t, gangSpec{name: "other", profile: "evenkeel", pods: 3, gpus: 1})
	for _, pod := range waitBound(t, "other", 3) {
		if pod.Annotations["evenkeel.dev/plan"] != "" {
			t.Errorf("%s has a plan", pod.Name)
		}
	}
}

func TestProfileWithAnotherBinder(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 2, 2)
	gang := gangSpec{name: "patched", profile: "evenkeel-patching", model: "llama3-8b", pods: 2, gpus: 8,
		annotations: batch(106)}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-patching"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"patch"}}}}
	if _, err := plane.client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: role.ObjectMeta,
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "ClusterRole", Name: role.Name},
		Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "system:kube-scheduler"}}}
	if _, err := plane.client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding,
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	create(t, gang)
	checkGang(t, waitBound(t, "patched", 2), 8)
}

func TestSchedulerRestartsInTheMiddleOfAGang(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 4, 4)
	gang := gangSpec{name: "halved", profile: "evenkeel", model: "llama3-8b", pods: 4, gpus: 8, annotations: batch(107)}
	create(t, gang, 0, 1)
	waitBound(t, "halved", 2)
	kill(plane.scheduler)
	if err := plane.startScheduler(); err != nil {
		t.Fatal(err)
	}
	create(t, gang, 2, 3)
	checkGang(t, waitBound(t, "halved", 4), 8)
}

func TestMetricsOfThePlugin(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 1, 1)
	create(t, gangSpec{name: "counted", profile: "evenkeel", model: "llama3-8b", pods: 1, gpus: 8, annotations: batch(108)})
	waitBound(t, "counted", 1)
	client, err := rest.HTTPClientFor(plane.config)
	if err != nil {
		t.Fatal(err)
	}
	client.Timeout = 20 * time.Second
	answer, err := client.Get(plane.schedulerURL + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"evenkeel_plugin_lookups_total{result=\"miss\"}",
		"evenkeel_plugin_planner_call_seconds_count{result=\"planned\"}", "evenkeel_plugin_circuit_breaker_state",
		"evenkeel_plugin_pods_total{how=\"planned\"}"} {
		if !strings.Contains(string(text), name) {
			t.Errorf("%s is missing", name)
		}
	}
}

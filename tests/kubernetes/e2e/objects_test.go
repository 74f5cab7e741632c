package e2e

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"evenkeel.dev/client/go/evenkeel"
	"evenkeel.dev/client/go/evenkeelv1"
	"evenkeel.dev/client/go/plannertest"
)

// longestPause of the client between connections.
const longestPause = 3 * time.Second

const (
	h100 = "NVIDIA-H100-80GB-HBM3"
	a100 = "NVIDIA-A100-SXM4-80GB"
)

// startPlanner runs an evenkeel-server where the scheduler looks for it, until the test ends. The scheduler may just have
// found that of the test before gone, and pauses before it connects again: then it would go on without a plan.
func startPlanner(t *testing.T) *plannertest.Server {
	t.Helper()
	server := plannertest.New(t)
	server.Address = plane.planner
	server.Start(t)
	time.Sleep(longestPause)
	return server
}

// anyClient is for objects of all kinds, which kinds finds.
func anyClient(t *testing.T) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(plane.config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// kinds are those that the API server has now.
func kinds(t *testing.T) meta.RESTMapper {
	t.Helper()
	groups, err := restmapper.GetAPIGroupResources(plane.client.Discovery())
	if err != nil {
		t.Fatal(err)
	}
	return restmapper.NewDiscoveryRESTMapper(groups)
}

func plannerClient(t *testing.T) *evenkeel.Client {
	t.Helper()
	client, err := evenkeel.New(evenkeel.Options{Address: plane.planner})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// addNodes makes nodes of 8 GPUs, `perLeaf` to a leaf switch (0: nothing is said of where they are), and removes them with
// everything else when the test ends.
func addNodes(t *testing.T, prefix, product string, count, perLeaf int) {
	t.Helper()
	nodes := plane.client.CoreV1().Nodes()
	inParallel(count, func(at int) {
		name := fmt.Sprintf("%s-%03d", prefix, at)
		capacity := v1.ResourceList{v1.ResourceCPU: resource.MustParse("128"), v1.ResourceMemory: resource.MustParse("2Ti"),
			v1.ResourcePods: resource.MustParse("110"), "nvidia.com/gpu": resource.MustParse("8")}
		labels := map[string]string{"nvidia.com/gpu.product": product, v1.LabelHostname: name}
		if perLeaf > 0 {
			labels[v1.LabelTopologyZone] = "zone-a"
			labels["network.topology.nvidia.com/leaf"] = fmt.Sprintf("%s-leaf-%d", prefix, at/perLeaf)
		}
		node := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
			Status: v1.NodeStatus{Capacity: capacity, Allocatable: capacity,
				Conditions: []v1.NodeCondition{{Type: v1.NodeReady, Status: v1.ConditionTrue}}},
		}
		made, err := nodes.Create(context.Background(), node, metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		made.Spec.Taints = nil // the API server taints new nodes "not ready"; without a kubelet nobody takes that away
		if _, err := nodes.Update(context.Background(), made, metav1.UpdateOptions{}); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		clear := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
		_ = plane.client.CoreV1().Pods("default").DeleteCollection(context.Background(), clear, metav1.ListOptions{})
		inParallel(count, func(at int) {
			_ = nodes.Delete(context.Background(), fmt.Sprintf("%s-%03d", prefix, at), clear)
		})
		waitFor(t, time.Minute, "pods and nodes to be gone", func() (bool, string) {
			left := pods(t, "")
			return len(left) == 0, fmt.Sprintf("%d pods", len(left))
		})
	})
}

func inParallel(count int, f func(int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range 16 {
		group.Go(func() {
			for at := range next {
				f(at)
			}
		})
	}
	for at := range count {
		next <- at
	}
	close(next)
	group.Wait()
}

// gangSpec is a gang of equal pods.
type gangSpec struct {
	name, profile, model string
	pods, gpus           int
	annotations          map[string]string // on top
	edit                 func(*v1.Pod)
}

func (g gangSpec) pod(at int) *v1.Pod {
	quantity := resource.MustParse(strconv.Itoa(max(g.gpus, 1)))
	requests := v1.ResourceList{v1.ResourceCPU: resource.MustParse("100m")}
	if g.gpus > 0 {
		requests["nvidia.com/gpu"] = quantity
	}
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", g.name, at), Namespace: "default",
			Labels:      map[string]string{"gang": g.name, "scheduling.x-k8s.io/pod-group": g.name},
			Annotations: map[string]string{"evenkeel.dev/pods": strconv.Itoa(g.pods)}},
		Spec: v1.PodSpec{SchedulerName: g.profile, Containers: []v1.Container{{Name: "trainer", Image: "trainer",
			Env: []v1.EnvVar{fromAnnotation("EVENKEEL_PLAN", "plan"), fromAnnotation("EVENKEEL_STAGE", "stage"),
				fromAnnotation("EVENKEEL_RANK", "rank")},
			Resources: v1.ResourceRequirements{Requests: requests}}}},
	}
	if g.gpus > 0 {
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{"nvidia.com/gpu": quantity}
	}
	if g.model != "" {
		pod.Annotations["evenkeel.dev/model"] = g.model
	}
	for key, text := range g.annotations {
		pod.Annotations[key] = text
	}
	if g.edit != nil {
		g.edit(pod)
	}
	return pod
}

func fromAnnotation(name, key string) v1.EnvVar {
	return v1.EnvVar{Name: name, ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{
		FieldPath: "metadata.annotations['evenkeel.dev/" + key + "']"}}}
}

func create(t *testing.T, gang gangSpec, places ...int) {
	t.Helper()
	if places == nil {
		for at := range gang.pods {
			places = append(places, at)
		}
	}
	inParallel(len(places), func(at int) {
		_, err := plane.client.CoreV1().Pods("default").Create(context.Background(), gang.pod(places[at]),
			metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
		}
	})
}

// pods lists a gang ("": all pods), by rank and then by name.
func pods(t *testing.T, gang string) []v1.Pod {
	t.Helper()
	options := metav1.ListOptions{}
	if gang != "" {
		options.LabelSelector = "gang=" + gang
	}
	list, err := plane.client.CoreV1().Pods("default").List(t.Context(), options)
	if err != nil && t.Context().Err() != nil { // in a cleanup
		list, err = plane.client.CoreV1().Pods("default").List(context.Background(), options)
	}
	if err != nil {
		t.Fatal(err)
	}
	sort.Slice(list.Items, func(i, j int) bool {
		left, right := rank(&list.Items[i]), rank(&list.Items[j])
		return left < right || left == right && list.Items[i].Name < list.Items[j].Name
	})
	return list.Items
}

func rank(pod *v1.Pod) int {
	number, err := strconv.Atoi(pod.Annotations["evenkeel.dev/rank"])
	if err != nil {
		return -1
	}
	return number
}

func waitFor(t *testing.T, limit time.Duration, what string, f func() (bool, string)) {
	t.Helper()
	for deadline := time.Now().Add(limit); ; time.Sleep(50 * time.Millisecond) {
		done, state := f()
		if done {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s: %s\n%s", limit, what, state, plane.logs())
		}
	}
}

// waitBound waits until so many pods of the gang have nodes, and returns them.
func waitBound(t *testing.T, gang string, count int) []v1.Pod {
	t.Helper()
	var bound []v1.Pod
	waitFor(t, 90*time.Second, fmt.Sprintf("%d pods of %s on nodes", count, gang), func() (bool, string) {
		bound = bound[:0]
		waiting := ""
		for _, pod := range pods(t, gang) {
			if pod.Spec.NodeName != "" {
				bound = append(bound, pod)
			} else if waiting == "" {
				waiting = refusal(t, pod.Name)
			}
		}
		return len(bound) >= count, fmt.Sprintf("%d have; first waiting: %s", len(bound), waiting)
	})
	return bound
}

// refusal returns what the scheduler last said of a pod that it did not place.
func refusal(t *testing.T, pod string) string {
	t.Helper()
	found, err := plane.client.CoreV1().Pods("default").Get(t.Context(), pod, metav1.GetOptions{})
	if err != nil {
		return err.Error()
	}
	for _, condition := range found.Status.Conditions {
		if condition.Type == v1.PodScheduled {
			return condition.Message
		}
	}
	return ""
}

// waitEvent waits for a FailedScheduling event of the pod that contains the text.
func waitEvent(t *testing.T, pod, text string) {
	t.Helper()
	waitFor(t, 30*time.Second, fmt.Sprintf("an event of %s with %q", pod, text), func() (bool, string) {
		list, err := plane.client.EventsV1().Events("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		seen := ""
		for _, event := range list.Items {
			if event.Regarding.Name == pod && event.Reason == "FailedScheduling" {
				seen += event.Note + "\n"
			}
		}
		return strings.Contains(seen, text), seen
	})
}

// checkGang holds the pods to the plan that their annotations name: one plan, every rank once, the right stages, and
// tensor-parallel groups on one node.
func checkGang(t *testing.T, placed []v1.Pod, gpusPerPod int) *evenkeelv1.Plan {
	t.Helper()
	answer, err := plannerClient(t).GetPlan(t.Context(),
		&evenkeelv1.GetPlanRequest{PlanId: placed[0].Annotations["evenkeel.dev/plan"]})
	if err != nil {
		t.Fatalf("the plan of %s: %v", placed[0].Name, err)
	}
	plan := answer.GetPlan()
	degrees := plan.GetParallelism()
	perStage := len(placed) * gpusPerPod / int(degrees.GetPipeline())
	nodeOf := map[int]string{}
	for at, pod := range placed {
		if pod.Annotations["evenkeel.dev/plan"] != plan.GetPlanId() {
			t.Errorf("%s has plan %q", pod.Name, pod.Annotations["evenkeel.dev/plan"])
		}
		if rank(&pod) != at*gpusPerPod {
			t.Errorf("%s has rank %d, want %d", pod.Name, rank(&pod), at*gpusPerPod)
		}
		first, last := rank(&pod)/perStage, (rank(&pod)+gpusPerPod-1)/perStage
		want := strconv.Itoa(first)
		if last > first {
			want = fmt.Sprintf("%d-%d", first, last)
		}
		if stage := pod.Annotations["evenkeel.dev/stage"]; stage != want {
			t.Errorf("%s has stage %q, want %q", pod.Name, stage, want)
		}
		for gpu := range gpusPerPod {
			nodeOf[rank(&pod)+gpu] = pod.Spec.NodeName
		}
	}
	together := int(plan.GetPlacement().GetColocatedRanks())
	for number, node := range nodeOf {
		if node != nodeOf[number/together*together] {
			t.Errorf("rank %d is on %s, but its group of %d on %s", number, node, together, nodeOf[number/together*together])
		}
	}
	return plan
}

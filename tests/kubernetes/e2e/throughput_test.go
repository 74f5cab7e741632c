package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	gangPods  = 200
	gangCount = 5
	leafNodes = 25 // as many pods of each gang under each leaf are just possible
	maxLoss   = 0.05
)

// TestThroughput schedules the same gangs with and without the plugin, by turns, for every kind of pod that kube-scheduler
// or the plugin treats in a way of its own. The scheduler is stopped while pods are made, so that it has them all to do at
// once. EVENKEEL_THROUGHPUT_REPEATS (default 3) rounds; the loss is the median of the rounds'. Where other programs disturb
// the clock the scheduler's processor time decides, if the clock agrees roughly.
func TestThroughput(t *testing.T) {
	startPlanner(t)
	t.Run("nodes with topology labels", func(t *testing.T) {
		addNodes(t, "h100", h100, gangPods*gangCount, leafNodes)
		throughput(t, "pods with GPUs alone", nil)
		throughput(t, "on the host's network", func(pod *v1.Pod) {
			pod.Spec.HostNetwork = true
			pod.Spec.Containers[0].Ports = []v1.ContainerPort{{ContainerPort: 29500, HostPort: 29500}}
		})
		throughput(t, "kept apart by anti-affinity", func(pod *v1.Pod) {
			pod.Spec.Affinity = &v1.Affinity{PodAntiAffinity: &v1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []v1.PodAffinityTerm{{
					LabelSelector: gangSelector(pod), TopologyKey: v1.LabelHostname}}}}
		})
		throughput(t, "spread over leaves, if it can be", func(pod *v1.Pod) {
			pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, LabelSelector: gangSelector(pod),
				TopologyKey: "network.topology.nvidia.com/leaf", WhenUnsatisfiable: v1.ScheduleAnyway}}
		})
		throughput(t, "spread over leaves by force", func(pod *v1.Pod) {
			pod.Spec.TopologySpreadConstraints = []v1.TopologySpreadConstraint{{MaxSkew: 1, LabelSelector: gangSelector(pod),
				TopologyKey: "network.topology.nvidia.com/leaf", WhenUnsatisfiable: v1.DoNotSchedule}}
		})
	})
	t.Run("nodes without topology labels", func(t *testing.T) {
		addNodes(t, "bare", h100, gangPods*gangCount, 0)
		throughput(t, "no labels that tell where nodes are", nil)
	})
}

func gangSelector(pod *v1.Pod) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"gang": pod.Labels["gang"]}}
}

func throughput(t *testing.T, kind string, edit func(*v1.Pod)) {
	t.Run(kind, func(t *testing.T) { compare(t, kind, edit) })
}

func compare(t *testing.T, kind string, edit func(*v1.Pod)) {
	t.Helper()
	repeats := 3
	if text := os.Getenv("EVENKEEL_THROUGHPUT_REPEATS"); text != "" {
		var err error
		if repeats, err = strconv.Atoi(text); err != nil || repeats < 1 {
			t.Fatalf("EVENKEEL_THROUGHPUT_REPEATS: %q; accepted: 1 and up", text)
		}
	}
	var clock, processor []float64 // with the plugin over without
	for round := range repeats + 1 {
		order := []string{"plain", "evenkeel"}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		walls, processors := map[string]time.Duration{}, map[string]time.Duration{}
		for _, profile := range order {
			walls[profile], processors[profile] = scheduleGangs(t, profile, round, edit)
		}
		if round == 0 { // fills the plugin's memory, and everybody's
			continue
		}
		clock = append(clock, walls["evenkeel"].Seconds()/walls["plain"].Seconds())
		processor = append(processor, processors["evenkeel"].Seconds()/processors["plain"].Seconds())
		t.Logf("%d pods: %.2f s without the plugin, %.2f s with; processor time %.2f s, %.2f s", gangPods*gangCount,
			walls["plain"].Seconds(), walls["evenkeel"].Seconds(), processors["plain"].Seconds(),
			processors["evenkeel"].Seconds())
	}
	byClock, byProcessor := 1-1/median(clock), 1-1/median(processor)
	t.Logf("throughput lost to the plugin, %s: %.1f%% by the clock, %.1f%% by processor time", kind, 100*byClock,
		100*byProcessor)
	if byClock > maxLoss && (byProcessor > maxLoss || byClock > 4*maxLoss) {
		t.Errorf("more than %.0f%% lost", 100*maxLoss)
	}
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[middle-1] + sorted[middle]) / 2
	}
	return sorted[middle]
}

// scheduleGangs returns how long the scheduler took for all gangs, by the clock and on the processors.
func scheduleGangs(t *testing.T, profile string, round int, edit func(*v1.Pod)) (wall, processor time.Duration) {
	t.Helper()
	wanted := gangPods * gangCount
	if err := plane.scheduler.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	resume := func() { _ = plane.scheduler.Process.Signal(syscall.SIGCONT) }
	defer resume()
	for number := range gangCount {
		create(t, gangSpec{name: fmt.Sprintf("g%d-%d", round, number), profile: profile, model: "llama3-70b",
			pods: gangPods, gpus: 8, annotations: batch(400), edit: edit})
	}
	events := watchPods(t)
	before := processorTime(t, plane.scheduler.Process.Pid)
	started := time.Now()
	resume()
	awaitBound(t, events, wanted)
	wall = time.Since(started)
	processor = processorTime(t, plane.scheduler.Process.Pid) - before
	for _, pod := range pods(t, "") {
		if (pod.Annotations["evenkeel.dev/plan"] != "") != (profile == "evenkeel") {
			t.Fatalf("%s of profile %s: plan %q", pod.Name, profile, pod.Annotations["evenkeel.dev/plan"])
		}
	}
	clear := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	if err := plane.client.CoreV1().Pods("default").DeleteCollection(context.Background(), clear,
		metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	waitFor(t, time.Minute, "pods to be gone", func() (bool, string) { return len(pods(t, "")) == 0, "" })
	time.Sleep(time.Second) // the scheduler has to hear of it too
	return wall, processor
}

// watchPods begins with all pods there are.
func watchPods(t *testing.T) watch.Interface {
	t.Helper()
	events, err := plane.client.CoreV1().Pods("default").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func awaitBound(t *testing.T, events watch.Interface, wanted int) {
	t.Helper()
	defer func() { events.Stop() }()
	bound := map[string]bool{}
	limit := time.After(3 * time.Minute)
	for len(bound) < wanted {
		select {
		case event, open := <-events.ResultChan():
			if !open { // the API server ends watches that fall behind
				events = watchPods(t)
				continue
			}
			if pod, ok := event.Object.(*v1.Pod); ok && pod.Spec.NodeName != "" {
				bound[pod.Name] = true
			}
		case <-limit:
			t.Fatalf("%d of %d pods have a node after 3 minutes\n%s", len(bound), wanted, plane.logs())
		}
	}
}

// processorTime returns the time of a process so far (proc(5): utime and stime, in hundredths of a second).
func processorTime(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	ticks := 0
	for _, field := range fields[11:13] {
		number, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += number
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}

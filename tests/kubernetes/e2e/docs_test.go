package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

var fences = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// fenced returns a code block of a page: the one of that language and number.
func fenced(t *testing.T, path, language string, number int) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range fences.FindAllStringSubmatch(string(text), -1) {
		if block[1] != language {
			continue
		}
		if number == 0 {
			return block[2]
		}
		number--
	}
	t.Fatalf("%s has too few blocks of %q", path, language)
	return ""
}

// apply creates the objects of a file, strictly. Nothing runs them: there is no kubelet.
func apply(t *testing.T, path string) {
	t.Helper()
	client, mapper := anyClient(t), kinds(t)
	for _, object := range documents(t, path) {
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Resource(mapping.Resource).Namespace(object.GetNamespace()).Create(t.Context(), object,
			metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
			t.Fatalf("%s: %s %s: %v", path, kind.Kind, object.GetName(), err)
		}
	}
}

// TestPageOfThePlugin follows docs/SCHEDULER_PLUGIN.md: its configuration, which is the shipped one's, with the rights of
// the shipped ServiceAccount, and its pod.
func TestPageOfThePlugin(t *testing.T) {
	const page = "../../../docs/SCHEDULER_PLUGIN.md"
	startPlanner(t)
	addNodes(t, "h100", h100, 14, 14)
	kill(plane.scheduler)
	t.Cleanup(func() {
		if err := plane.startScheduler(); err != nil {
			t.Error(err)
		}
	})
	apply(t, "../../../client/go/scheduler/config/deployment.yaml")
	shipped, err := plane.client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "evenkeel-scheduler", metav1.GetOptions{})
	if err != nil || shipped.Data["scheduler.yaml"] != fenced(t, page, "yaml", 0) {
		t.Errorf("the page shows another configuration than %v (%v)", shipped.Data, err)
	}
	config := strings.Replace(shipped.Data["scheduler.yaml"], "evenkeel.evenkeel.svc:50051", plane.planner, 1) +
		"clientConnection: {kubeconfig: " + plane.folder + "/second.kubeconfig}\n"
	if err := os.WriteFile(plane.folder+"/page.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	second := plane.folder + "/second.kubeconfig"
	scheduler, err := plane.run("evenkeel-scheduler", "--config="+plane.folder+"/page.yaml", "--secure-port=0",
		"--authentication-kubeconfig="+second, "--authorization-kubeconfig="+second)
	if err != nil {
		t.Fatal(err)
	}
	defer kill(scheduler)
	var pod v1.Pod
	if err := yaml.UnmarshalStrict([]byte(fenced(t, page, "yaml", 1)), &pod); err != nil {
		t.Fatal(err)
	}
	pod.Labels["gang"] = "train" // of this package's tests
	for at := range 8 {
		pod.Name = fmt.Sprintf("train-%d", at)
		if _, err := plane.client.CoreV1().Pods("default").Create(t.Context(), &pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	checkGang(t, waitBound(t, "train", 8), 8)
	waitFor(t, 30*time.Second, "the lease to be renewed", func() (bool, string) {
		lease, err := plane.client.CoordinationV1().Leases("kube-system").Get(t.Context(), "evenkeel-scheduler",
			metav1.GetOptions{})
		return err == nil && lease.Spec.RenewTime.After(lease.Spec.AcquireTime.Time), fmt.Sprint(lease, err)
	})
	pageOfConfigMaps(t)
}

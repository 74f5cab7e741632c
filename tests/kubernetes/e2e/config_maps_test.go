package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// configMapOfThePage is the ConfigMap that docs/SCHEDULER_PLUGIN.md shows.
func configMapOfThePage(t *testing.T) *v1.ConfigMap {
	t.Helper()
	found := &v1.ConfigMap{}
	if err := yaml.UnmarshalStrict([]byte(fenced(t, "../../../docs/SCHEDULER_PLUGIN.md", "yaml", 2)), found); err != nil {
		t.Fatal(err)
	}
	return found
}

// put makes a ConfigMap, or changes it.
func put(t *testing.T, object *v1.ConfigMap) {
	t.Helper()
	maps := plane.client.CoreV1().ConfigMaps("default")
	if _, err := maps.Update(t.Context(), object, metav1.UpdateOptions{}); err == nil {
		return
	}
	if _, err := maps.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// waitWarning waits for a warning about an object, in the older or the newer API of events.
func waitWarning(t *testing.T, reason, name, text string) {
	t.Helper()
	waitFor(t, 30*time.Second, "a warning on "+name, func() (bool, string) {
		list, err := plane.client.CoreV1().Events("default").List(t.Context(), metav1.ListOptions{
			FieldSelector: "reason=" + reason + ",type=Warning,involvedObject.name=" + name})
		if err != nil {
			return false, err.Error()
		}
		for _, event := range list.Items {
			if strings.Contains(event.Message, text) {
				return true, ""
			}
		}
		return false, fmt.Sprint(list.Items)
	})
}

// pageOfConfigMaps follows the page's section on ConfigMaps, with the shipped rights of the scheduler: the ConfigMap comes
// after its pods, without a label first, then with a wrong key.
func pageOfConfigMaps(t *testing.T) {
	t.Helper()
	right := configMapOfThePage(t)
	job := right.Data["job.json"]
	create(t, gangSpec{name: "described", profile: "evenkeel", pods: 4, gpus: 8,
		annotations: map[string]string{"evenkeel.dev/job-config-map": right.Name + "/job.json"}})
	missing := fmt.Sprintf("namespace default has no ConfigMap %q with the label evenkeel.dev/job-config-map", right.Name)
	waitEvent(t, "described-0", missing)
	wrong := right.DeepCopy()
	wrong.Labels, wrong.Data = nil, map[string]string{"other.json": job}
	put(t, wrong)
	wrong.Labels = right.Labels
	put(t, wrong)
	// The API server counts the second event to the first, whose text stays; the pod's condition is of now.
	waitFor(t, 30*time.Second, "a condition with the keys", func() (bool, string) {
		text := refusal(t, "described-3")
		return strings.Contains(text, `ConfigMap default/`+right.Name+` has no key "job.json"; accepted: other.json`), text
	})
	put(t, right)
	plan := checkGang(t, waitBound(t, "described", 4), 8)
	if plan.GetSubject().GetGlobalBatchSamples() != 256 {
		t.Errorf("%v is not planned by the ConfigMap", plan.GetSubject())
	}
	right.Data["job.json"] = strings.Replace(job, "256", "128", 1)
	put(t, right)
	waitWarning(t, "JobHasBegun", right.Name, "of this ConfigMap: 1;")
	waiting := gangSpec{name: "later", profile: "evenkeel", pods: 2, gpus: 8,
		annotations: map[string]string{"evenkeel.dev/job-config-map": right.Name}}
	create(t, waiting)
	if plan := checkGang(t, waitBound(t, "later", 2), 8); plan.GetSubject().GetGlobalBatchSamples() != 128 {
		t.Errorf("%v is not planned by the ConfigMap as it is now", plan.GetSubject())
	}
}

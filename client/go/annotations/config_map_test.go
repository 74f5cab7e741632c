package annotations_test

import (
	"errors"
	"strings"
	"testing"

	"evenkeel.dev/client/go/annotations"
)

// configMaps is a namespace with ConfigMaps by name.
type configMaps map[string]map[string]string

func (m configMaps) get(name string) (map[string]string, bool, error) {
	if name == "broken" {
		return nil, false, errors.New("no connection")
	}
	data, found := m[name]
	return data, found, nil
}

var held = configMaps{
	"one":   {"job.json": `{"model":{"name":"llama3-8b"}}`},
	"two":   {"a.json": `{"model":{"name":"a"}}`, "b.json": `{"model":{"name":"b"}}`},
	"empty": {}, "blank": {"job.json": " \n"}, "typo": {"job.json": `{"modell":{}}`}}

func TestConfigMapHoldsTheJob(t *testing.T) {
	for reference, want := range map[string]string{"one": "llama3-8b", "one/job.json": "llama3-8b", "two/b.json": "b"} {
		given := map[string]string{annotations.JobConfigMap: reference, "other": "kept"}
		resolved, err := annotations.Resolve(given, "ns", held.get)
		if err != nil {
			t.Fatal(err)
		}
		request, err := annotations.Request(resolved, nil)
		if err != nil || request.GetJob().GetModel().GetName() != want || resolved["other"] != "kept" {
			t.Errorf("%s: %v, %v", reference, request, err)
		}
		if given[annotations.Job] != "" || !annotations.WantsPlan(given, nil) {
			t.Errorf("%s: the object's own annotations are now %v", reference, given)
		}
	}
	plain := map[string]string{annotations.Model: "m"}
	if same, err := annotations.Resolve(plain, "ns", nil); err != nil || same[annotations.Model] != "m" || len(same) != 1 {
		t.Errorf("without a ConfigMap: %v, %v", same, err)
	}
}

func TestWrongConfigMapsAreNamed(t *testing.T) {
	for reference, test := range map[string]struct {
		want    string
		missing bool
	}{
		"":               {"accepted: NAME or NAME/KEY", false},
		"/job.json":      {"accepted: NAME or NAME/KEY", false},
		"one/":           {"accepted: NAME or NAME/KEY", false},
		"ns/one/x":       {"in the job's own namespace, ns", false},
		"broken":         {"ConfigMap ns/broken: no connection", false},
		"absent":         {`namespace ns has no ConfigMap "absent" with the label ` + annotations.JobConfigMap, true},
		"other-ns/one":   {`namespace ns has no ConfigMap "other-ns"`, true},
		"one/b.json":     {`ConfigMap ns/one has no key "b.json"; accepted: job.json`, true},
		"two":            {"ConfigMap ns/two has several keys; accepted: NAME/KEY with one of a.json, b.json", true},
		"empty":          {"ConfigMap ns/empty has no data", true},
		"blank/job.json": {`ConfigMap ns/blank has nothing under "job.json"`, true},
	} {
		_, err := annotations.Resolve(map[string]string{annotations.JobConfigMap: reference}, "ns", held.get)
		var missing *annotations.MissingJob
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.As(err, &missing) != test.missing {
			t.Errorf("%q: %v, want %q", reference, err, test.want)
		}
	}
	both := map[string]string{annotations.JobConfigMap: "one", annotations.Job: "{}"}
	if _, err := annotations.Resolve(both, "ns", held.get); err == nil || !strings.Contains(err.Error(), "give one") {
		t.Errorf("two jobs: %v", err)
	}
}

func TestFaultsOfTheJobNameTheConfigMap(t *testing.T) {
	unresolved := map[string]string{annotations.JobConfigMap: "one"}
	if _, err := annotations.Request(unresolved, nil); err == nil || !strings.Contains(err.Error(), "ConfigMap one was not read") {
		t.Errorf("a job that nobody has read: %v", err)
	}
	for reference, text := range map[string]string{"typo": "ConfigMap typo/job.json: neither", "one": "model.name in ConfigMap one/job.json"} {
		given := map[string]string{annotations.JobConfigMap: reference, annotations.Model: "m"}
		resolved, err := annotations.Resolve(given, "ns", held.get)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := annotations.Request(resolved, nil); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v, want %q", reference, err, text)
		}
	}
}

func TestOnlyAChangeOfItsOwnKeyChangesAJob(t *testing.T) {
	before := map[string]string{"a": "1", "b": "1"}
	after := map[string]string{"a": "1", "b": "2"}
	for reference, same := range map[string]bool{"jobs/a": true, "jobs/b": false, "jobs": false} {
		if got := annotations.SameJob(map[string]string{annotations.JobConfigMap: reference}, before, after); got != same {
			t.Errorf("%s: %v, want %v", reference, got, same)
		}
	}
}

package annotations

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// JobConfigMap, as an annotation: the ConfigMap that holds the job, NAME or NAME/KEY, instead of Job. As a label of a
// ConfigMap, with any value: jobs may name it.
const JobConfigMap = "evenkeel.dev/job-config-map"

// MissingJob is the error of a ConfigMap that is not there, or lacks the key: it may come yet.
type MissingJob struct{ text string }

func (m *MissingJob) Error() string { return m.text }

// ConfigMapOf returns the name of the ConfigMap that holds the job; "" where the annotations name none, or name it
// wrongly, which Resolve tells.
func ConfigMapOf(annotations map[string]string) string {
	name, _, _ := strings.Cut(annotations[JobConfigMap], "/")
	return name
}

// SameJob says whether the job that the annotations name is the same in both versions of their ConfigMap's data.
func SameJob(annotations, before, after map[string]string) bool {
	_, key, _ := strings.Cut(annotations[JobConfigMap], "/")
	if key == "" {
		return maps.Equal(before, after)
	}
	return before[key] == after[key]
}

// Resolve returns the annotations with the job of the ConfigMap that they name, as if Job had it; without such a name,
// the same annotations. `namespace` is the object's own: no other's ConfigMaps are read, since the planner's answers show
// what was read. `get` returns the data of a ConfigMap of that namespace with the label JobConfigMap, and false where
// there is none.
func Resolve(annotations map[string]string, namespace string, get func(name string) (map[string]string, bool, error)) (
	map[string]string, error) {
	reference, ok := annotations[JobConfigMap]
	if !ok {
		return annotations, nil
	}
	name, key, _ := strings.Cut(reference, "/")
	if name == "" || strings.Contains(key, "/") || strings.HasSuffix(reference, "/") {
		return nil, fmt.Errorf("annotation %s: %q; accepted: NAME or NAME/KEY of a ConfigMap in the job's own namespace, %s",
			JobConfigMap, reference, namespace)
	}
	if annotations[Job] != "" {
		return nil, fmt.Errorf("annotations %s and %s are both given; give one", Job, JobConfigMap)
	}
	data, found, err := get(name)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: ConfigMap %s/%s: %w", JobConfigMap, namespace, name, err)
	}
	if !found {
		return nil, &MissingJob{fmt.Sprintf("annotation %s: namespace %s has no ConfigMap %q with the label %s; accepted: NAME "+
			"or NAME/KEY of one that has it, in the job's own namespace", JobConfigMap, namespace, name, JobConfigMap)}
	}
	if key, err = keyOf(data, key); err != nil {
		return nil, &MissingJob{fmt.Sprintf("annotation %s: ConfigMap %s/%s %v", JobConfigMap, namespace, name, err)}
	}
	resolved := maps.Clone(annotations)
	resolved[Job], resolved[JobConfigMap] = data[key], name+"/"+key
	return resolved, nil
}

// keyOf returns the key to read: the one that was asked for, or the only one.
func keyOf(data map[string]string, key string) (string, error) {
	keys := slices.Sorted(maps.Keys(data))
	switch text, ok := data[key]; {
	case len(keys) == 0:
		return "", errors.New("has no data; accepted: one key whose text is the job as JSON")
	case key == "" && len(keys) == 1:
		return keyOf(data, keys[0])
	case key == "":
		return "", fmt.Errorf("has several keys; accepted: NAME/KEY with one of %s", strings.Join(keys, ", "))
	case !ok:
		return "", fmt.Errorf("has no key %q; accepted: %s", key, strings.Join(keys, ", "))
	case strings.TrimSpace(text) == "":
		return "", fmt.Errorf("has nothing under %q; accepted: the job as JSON", key)
	}
	return key, nil
}

// jobPlace says where the job's description stands, for errors.
func jobPlace(annotations map[string]string) string {
	if reference := annotations[JobConfigMap]; reference != "" {
		return "ConfigMap " + reference
	}
	return "annotation " + Job
}

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

// restricted is where objects go whose overlay names no namespace.
const restricted = "restricted"

// manifests are the rendered overlays of deploy/kubernetes, given to the API server.
type manifests struct {
	*testing.T
	client dynamic.Interface
	mapper meta.RESTMapper
}

// TestManifests creates every object of every overlay as `kubectl apply --dry-run=server --validate=strict` would: with
// all defaults, validation and admission, and nothing kept. Pods are made of the templates too, because Pod Security only
// warns about the objects that bring templates. Namespaces are really made, with the labels that the overlays ship.
func TestManifests(t *testing.T) {
	folder := os.Getenv("EVENKEEL_MANIFESTS")
	if folder == "" {
		t.Fatal("EVENKEEL_MANIFESTS: folder with an overlay in each file; see run.sh")
	}
	m := &manifests{T: t, client: anyClient(t)}
	m.installCRDs(os.Getenv("EVENKEEL_MANIFEST_CRDS"))
	m.namespace(namespaceOf(restricted, map[string]any{"pod-security.kubernetes.io/enforce": "restricted"}))
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) < 7 {
		t.Fatalf("%d overlays in %s, %v", len(files), folder, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			(&manifests{t, m.client, m.mapper}).overlay(documents(t, file))
		})
	}
	t.Run("faults are found", func(t *testing.T) {
		(&manifests{t, m.client, m.mapper}).refused(documents(t, filepath.Join(folder, "standalone.yaml")))
	})
}

// installCRDs makes what is in the folder, by name and specification alone: some are templates of a Helm chart in their
// labels. Where there is no folder, objects of such kinds are skipped.
func (m *manifests) installCRDs(folder string) {
	m.Helper()
	files, _ := filepath.Glob(filepath.Join(folder, "*.yaml"))
	made := 0
	for _, file := range files {
		for _, crd := range documents(m.T, file) {
			if crd.GetKind() != "CustomResourceDefinition" {
				continue
			}
			bare := &unstructured.Unstructured{Object: map[string]any{"spec": crd.Object["spec"]}}
			bare.SetAPIVersion(crd.GetAPIVersion())
			bare.SetKind(crd.GetKind())
			bare.SetName(crd.GetName())
			if _, err := m.client.Resource(crds).Create(m.Context(), bare, metav1.CreateOptions{}); err != nil {
				m.Fatalf("%s: %v", file, err)
			}
			made++
		}
	}
	waitFor(m.T, time.Minute, "the CRDs to be established", func() (bool, string) {
		list, err := m.client.Resource(crds).List(m.Context(), metav1.ListOptions{})
		if err != nil {
			return false, err.Error()
		}
		for _, crd := range list.Items {
			conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
			established := false
			for _, condition := range conditions {
				condition := condition.(map[string]any)
				established = established || condition["type"] == "Established" && condition["status"] == "True"
			}
			if !established {
				return false, crd.GetName()
			}
		}
		return true, ""
	})
	m.Logf("%d CRDs", made)
	m.mapper = kinds(m.T)
}

func namespaceOf(name string, labels map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace",
		"metadata": map[string]any{"name": name, "labels": labels}}}
}

// namespace is made for good: what goes into it is only tried.
func (m *manifests) namespace(object *unstructured.Unstructured) {
	m.Helper()
	_, err := m.client.Resource(resourceOf("v1", "namespaces")).Create(m.Context(), object,
		metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		m.Fatal(err)
	}
}

// try creates an object and leaves nothing behind: says whether the API server knows the kind, and what it says.
func (m *manifests) try(object *unstructured.Unstructured) (known bool, err error) {
	m.Helper()
	kind := object.GroupVersionKind()
	mapping, err := m.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, err
	}
	if err != nil {
		m.Fatal(err)
	}
	options := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict}
	var client dynamic.ResourceInterface = m.client.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if object.GetNamespace() == "" {
			object.SetNamespace(restricted)
		}
		client = m.client.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	_, err = client.Create(m.Context(), object, options)
	return true, err
}

func (m *manifests) overlay(objects []*unstructured.Unstructured) {
	for _, object := range objects {
		if object.GetKind() == "Namespace" {
			if object.GetLabels()["pod-security.kubernetes.io/enforce"] != "restricted" {
				m.Errorf("namespace %s does not enforce the restricted profile", object.GetName())
			}
			m.namespace(object)
		}
	}
	tried, pods := 0, 0
	for _, object := range objects {
		if object.GetKind() == "Namespace" {
			continue
		}
		name := object.GetKind() + " " + object.GetName()
		if known, err := m.try(object); !known {
			m.Logf("%s: skipped, its CRD could not be had: %v", name, err)
			continue
		} else if err != nil {
			m.Errorf("%s: %v", name, err)
		}
		tried++
		if pod := podOf(object); pod != nil {
			pods++
			if _, err := m.try(pod); err != nil {
				m.Errorf("pod of %s: %v", name, err)
			}
		}
	}
	if pods == 0 {
		m.Error("no pod among the objects")
	}
	m.Logf("%d objects and %d pods", tried, pods)
}

// podOf returns a pod as the object's controller would make it, nil for objects that make none. A StatefulSet gives it
// its volumes.
func podOf(object *unstructured.Unstructured) *unstructured.Unstructured {
	template, found, _ := unstructured.NestedMap(object.Object, "spec", "template")
	if !found {
		return nil
	}
	pod := &unstructured.Unstructured{Object: template}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetName(object.GetName() + "-0")
	pod.SetNamespace(object.GetNamespace())
	claims, _, _ := unstructured.NestedSlice(object.Object, "spec", "volumeClaimTemplates")
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	for _, claim := range claims {
		name, _, _ := unstructured.NestedString(claim.(map[string]any), "metadata", "name")
		volumes = append(volumes, map[string]any{"name": name,
			"persistentVolumeClaim": map[string]any{"claimName": name + "-" + pod.GetName()}})
	}
	if len(volumes) > 0 {
		_ = unstructured.SetNestedSlice(pod.Object, volumes, "spec", "volumes")
	}
	return pod
}

// refused plants faults: a check that finds none of them would find no others.
func (m *manifests) refused(objects []*unstructured.Unstructured) {
	for _, object := range objects {
		if object.GetKind() != "Deployment" {
			continue
		}
		for words, plant := range map[string]func(container map[string]any){
			"violates PodSecurity": func(container map[string]any) {
				container["securityContext"] = map[string]any{"readOnlyRootFilesystem": true}
			},
			"unknown field": func(container map[string]any) { container["readynessProbe"] = map[string]any{} },
			"must be greater than": func(container map[string]any) {
				container["livenessProbe"].(map[string]any)["periodSeconds"] = int64(-1)
			},
		} {
			pod := podOf(object.DeepCopy())
			containers, _, _ := unstructured.NestedSlice(pod.Object, "spec", "containers")
			plant(containers[0].(map[string]any))
			_ = unstructured.SetNestedSlice(pod.Object, containers, "spec", "containers")
			if _, err := m.try(pod); err == nil || !strings.Contains(err.Error(), words) {
				m.Errorf("%s: not found, but %v", words, err)
			}
		}
		return
	}
	m.Error("no Deployment")
}

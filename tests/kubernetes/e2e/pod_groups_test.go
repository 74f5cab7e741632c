package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

var podGroups = resourceOf("scheduling.x-k8s.io/v1alpha1", "podgroups")

// installPodGroups makes the PodGroups of the coscheduling plugin, as far as the scheduler needs them, and lets it see
// them.
func (c *control) installPodGroups() error {
	client, err := dynamic.NewForConfig(c.config)
	if err != nil {
		return err
	}
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": "podgroups.scheduling.x-k8s.io"},
		"spec": map[string]any{
			"group": podGroups.Group, "scope": "Namespaced",
			"names": map[string]any{"plural": podGroups.Resource, "singular": "podgroup", "kind": "PodGroup",
				"listKind": "PodGroupList"},
			"versions": []any{map[string]any{"name": podGroups.Version, "served": true, "storage": true,
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object",
					"x-kubernetes-preserve-unknown-fields": true}}}}}}}
	ctx := context.Background()
	if _, err := client.Resource(crds).Create(ctx, crd, metav1.CreateOptions{}); err != nil {
		return err
	}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "pod-groups"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{podGroups.Group}, Resources: []string{podGroups.Resource},
			Verbs: []string{"get", "list", "watch"}}}}
	if _, err := c.client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{}); err != nil {
		return err
	}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "pod-groups"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "pod-groups"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "system:kube-scheduler"}}}
	if _, err := c.client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		return err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		if _, err = client.Resource(podGroups).List(ctx, metav1.ListOptions{}); err == nil {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("PodGroups are not served: %w", err)
		}
	}
}

// The pods come first: they wait for the PodGroup that says how many they are.
func TestPodGroupOfCoscheduling(t *testing.T) {
	startPlanner(t)
	addNodes(t, "h100", h100, 4, 4)
	gang := gangSpec{name: "labelled", profile: "evenkeel", model: "llama3-8b", pods: 4, gpus: 8, annotations: batch(108),
		edit: func(pod *v1.Pod) {
			delete(pod.Annotations, "evenkeel.dev/pods") // the PodGroup says it
			pod.Labels["scheduling.x-k8s.io/pod-group"] = "labelled"
		}}
	create(t, gang)
	waitEvent(t, "labelled-0", "annotation evenkeel.dev/pods: required")
	client, err := dynamic.NewForConfig(plane.config)
	if err != nil {
		t.Fatal(err)
	}
	groups := client.Resource(podGroups).Namespace("default")
	group := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": podGroups.GroupVersion().String(), "kind": "PodGroup", "metadata": map[string]any{"name": "labelled"},
		"spec": map[string]any{"minMember": int64(4)}}}
	if _, err := groups.Create(t.Context(), group, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = groups.Delete(context.Background(), "labelled", metav1.DeleteOptions{}) })
	checkGang(t, waitBound(t, "labelled", 4), 8)
}

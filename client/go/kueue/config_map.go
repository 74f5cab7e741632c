package kueue

import (
	"context"
	"errors"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"

	"evenkeel.dev/client/go/annotations"
)

// CacheOptions are for the manager that Setup is given: only the ConfigMaps that hold jobs are read.
func CacheOptions() cache.Options {
	holdsJob, err := labels.NewRequirement(annotations.JobConfigMap, selection.Exists, nil)
	if err != nil {
		panic(err) // a constant
	}
	return cache.Options{ByObject: map[client.Object]cache.ByObject{
		&corev1.ConfigMap{}: {Label: labels.NewSelector().Add(*holdsJob)}}}
}

// resolved returns what a pod set says, with the job of its ConfigMap if it names one. What may come yet is no
// badWorkload: the ConfigMap, its key.
func resolved(ctx context.Context, reader client.Reader, namespace string, set *kueue.PodSet) (map[string]string, error) {
	var failed error
	said, err := annotations.Resolve(set.Template.Annotations, namespace, func(name string) (map[string]string, bool, error) {
		found := &corev1.ConfigMap{}
		failed = reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, found)
		if apierrors.IsNotFound(failed) {
			failed = nil
			return nil, false, nil
		}
		_, ok := found.Labels[annotations.JobConfigMap]
		return found.Data, ok, failed
	})
	var missing *annotations.MissingJob
	if err != nil && failed == nil && !errors.As(err, &missing) {
		err = badWorkload{err}
	}
	return said, err
}

// configMapChanged leaves an event with workloads that were planned by what a ConfigMap said before.
func (r *workloadReconciler) configMapChanged(ctx context.Context, change event.UpdateEvent,
	_ workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	before, after := change.ObjectOld.(*corev1.ConfigMap), change.ObjectNew.(*corev1.ConfigMap)
	if maps.Equal(before.Data, after.Data) {
		return
	}
	found := &kueue.WorkloadList{}
	if err := r.client.List(ctx, found, client.InNamespace(after.Namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing Workloads")
		return
	}
	for at := range found.Items {
		if workload := &found.Items[at]; r.plannedBy(ctx, workload, before, after) {
			r.events.Eventf(workload, corev1.EventTypeWarning, "JobHasBegun", "ConfigMap %s changed after the job was planned: "+
				"the job keeps its plan until it is admitted anew", after.Name)
		}
	}
}

// plannedBy says whether the workload names the ConfigMap and a job that changed there, and runs because a check of ours
// was Ready.
func (r *workloadReconciler) plannedBy(ctx context.Context, workload *kueue.Workload, before, after *corev1.ConfigMap) bool {
	named := false
	for at := range workload.Spec.PodSets {
		given := workload.Spec.PodSets[at].Template.Annotations
		named = named || annotations.ConfigMapOf(given) == after.Name && !annotations.SameJob(given, before.Data, after.Data)
	}
	if !named || !waits(workload) && !meta.IsStatusConditionTrue(workload.Status.Conditions, kueue.WorkloadAdmitted) ||
		meta.IsStatusConditionTrue(workload.Status.Conditions, kueue.WorkloadFinished) {
		return false
	}
	for at := range workload.Status.AdmissionChecks {
		state := &workload.Status.AdmissionChecks[at]
		if check, err := r.ours(ctx, state); state.State == kueue.CheckStateReady && check != nil && err == nil {
			return true
		}
	}
	return false
}

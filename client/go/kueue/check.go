package kueue

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// checkReconciler keeps the condition Active of our AdmissionChecks: without it Kueue holds their queues inactive.
type checkReconciler struct{ client client.Client }

func (r *checkReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	check := &kueue.AdmissionCheck{}
	if err := r.client.Get(ctx, request.NamespacedName, check); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if check.Spec.ControllerName != ControllerName || check.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	condition := metav1.Condition{Type: kueue.AdmissionCheckActive, Status: metav1.ConditionTrue, Reason: "Active",
		Message: "Workloads are planned", ObservedGeneration: check.Generation}
	if _, err := parametersOf(ctx, r.client, check); err != nil {
		condition.Status, condition.Reason = metav1.ConditionFalse, "BadParameters"
		condition.Message = shorten(err.Error(), maxMessage)
	}
	before := check.DeepCopy()
	if !meta.SetStatusCondition(&check.Status.Conditions, condition) {
		return ctrl.Result{}, nil
	}
	if err := r.client.Status().Patch(ctx, check, client.MergeFrom(before)); err != nil {
		return ctrl.Result{}, fmt.Errorf("condition Active of %s: %w", check.Name, err)
	}
	return ctrl.Result{}, nil
}

// checksOfParameters returns the checks that name the parameters: a change of them may make a check active, or stop it.
func (r *checkReconciler) checksOfParameters(ctx context.Context, object client.Object) (requests []reconcile.Request) {
	checks := &kueue.AdmissionCheckList{}
	if err := r.client.List(ctx, checks); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing AdmissionChecks")
		return nil
	}
	for _, check := range checks.Items {
		if check.Spec.ControllerName == ControllerName && check.Spec.Parameters != nil &&
			check.Spec.Parameters.Name == object.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&check)})
		}
	}
	return requests
}

func (r *checkReconciler) setup(manager ctrl.Manager) error {
	parameters := &unstructured.Unstructured{}
	parameters.SetGroupVersionKind(ParametersKind)
	return ctrl.NewControllerManagedBy(manager).For(&kueue.AdmissionCheck{}).
		Watches(parameters, handler.EnqueueRequestsFromMapFunc(r.checksOfParameters)).Complete(r)
}

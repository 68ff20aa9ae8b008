package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/furrow-dev/furrow/test/servers"
)

// clusterStatus is what Cluster API says of a Cluster, as far as it is played.
type clusterStatus struct {
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Phase              string             `json:"phase,omitempty"`
	Initialization     *initialization    `json:"initialization,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type initialization struct {
	InfrastructureProvisioned bool `json:"infrastructureProvisioned,omitempty"`
	ControlPlaneInitialized   bool `json:"controlPlaneInitialized,omitempty"`
}

// report brings the status of a Cluster up to date; cluster is nil while it does not run. It writes
// only what has changed, because each write wakes those who watch.
func (p *provider) report(ctx context.Context, object *unstructured.Unstructured, cluster *servers.Cluster) error {
	before := object.DeepCopy()
	var status clusterStatus
	if old, found := object.Object["status"].(map[string]any); found {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(old, &status); err != nil {
			return fmt.Errorf("read its status: %w", err)
		}
	}
	status.ObservedGeneration = object.GetGeneration()
	available := metav1.Condition{Type: "Available", Status: metav1.ConditionFalse, Reason: "NotInitialized", Message: "It has no API server yet."}
	if cluster == nil {
		if status.Initialization == nil { // it stays initialized once it is
			status.Phase = "Provisioning"
		}
	} else {
		status.Phase, status.Initialization = "Provisioned", &initialization{true, true}
		available = availability(ctx, cluster)
	}
	meta.SetStatusCondition(&status.Conditions, available)
	reported, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return fmt.Errorf("write its status: %w", err)
	}
	object.Object["status"] = reported
	patch := client.MergeFrom(before)
	if data, err := patch.Data(object); err != nil || string(data) != "{}" {
		err = p.mgmt.Status().Patch(ctx, object, patch)
		if err != nil {
			return err
		}
	}
	if cluster != nil {
		p.reportAvailable(client.ObjectKeyFromObject(object), available)
	}
	return nil
}

func (p *provider) reportAvailable(key client.ObjectKey, available metav1.Condition) {
	if available.Status == metav1.ConditionTrue {
		p.announce(key, "Available", available.Message)
	} else if p.reported[key] != "Available" {
		p.announce(key, "Initialized", "its API server answers; the kubeconfig is in a Secret")
	}
}

// availability returns the condition Available: true if there is at least one Deployment on a
// cluster, and all of them are available; unknown if the cluster does not answer.
func availability(ctx context.Context, cluster *servers.Cluster) metav1.Condition {
	condition := metav1.Condition{Type: "Available", Status: metav1.ConditionFalse, Reason: "NotAvailable"}
	var deployments appsv1.DeploymentList
	if err := cluster.Client().List(ctx, &deployments); err != nil {
		condition.Status, condition.Message = metav1.ConditionUnknown, "It does not answer."
		return condition
	}
	if len(deployments.Items) == 0 {
		condition.Message = "Nothing runs on it yet."
		return condition
	}
	for i := range deployments.Items {
		if d := &deployments.Items[i]; !deploymentAvailable(d) {
			condition.Message = fmt.Sprintf("Deployment %s/%s is not available.", d.Namespace, d.Name)
			return condition
		}
	}
	condition.Status, condition.Reason, condition.Message = metav1.ConditionTrue, "Available", "all its Deployments are available"
	return condition
}

func deploymentAvailable(d *appsv1.Deployment) bool {
	for _, condition := range d.Status.Conditions {
		if condition.Type == appsv1.DeploymentAvailable {
			return condition.Status == corev1.ConditionTrue && d.Status.ObservedGeneration >= d.Generation
		}
	}
	return false
}

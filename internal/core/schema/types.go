package schema

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// apis are those whose types are known, the preferred version of a kind first.
var apis = []func(*runtime.Scheme) error{
	admissionregistrationv1.AddToScheme,
	admissionregistrationv1beta1.AddToScheme,
	appsv1.AddToScheme,
	autoscalingv2.AddToScheme,
	autoscalingv1.AddToScheme,
	batchv1.AddToScheme,
	certificatesv1.AddToScheme,
	certificatesv1beta1.AddToScheme,
	coordinationv1.AddToScheme,
	corev1.AddToScheme,
	discoveryv1.AddToScheme,
	eventsv1.AddToScheme,
	flowcontrolv1.AddToScheme,
	networkingv1.AddToScheme,
	nodev1.AddToScheme,
	policyv1.AddToScheme,
	rbacv1.AddToScheme,
	resourcev1.AddToScheme,
	resourcev1beta2.AddToScheme,
	schedulingv1.AddToScheme,
	storagev1.AddToScheme,
	storagev1beta1.AddToScheme,
}

var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range apis {
		if err := add(s); err != nil {
			panic(err) // the types are compiled in
		}
	}
	return s
}()

// Object returns an empty object of a kind of Kubernetes itself; nil of all other kinds. A version
// without types has those of another version of the kind: they differ in fields, and not in how lists
// are merged.
func Object(group, version, kind string) runtime.Object {
	gk := schema.GroupKind{Group: group, Kind: kind}
	versions := scheme.VersionsForGroupKind(gk)
	if len(versions) == 0 {
		return nil
	}
	gvk := gk.WithVersion(versions[0].Version)
	if exact := gk.WithVersion(version); scheme.Recognizes(exact) {
		gvk = exact
	}
	typed, err := scheme.New(gvk)
	if err != nil {
		return nil
	}
	return typed
}

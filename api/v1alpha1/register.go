package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the types in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: Version}

// AddToScheme makes a scheme know the types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion,
		&Seed{}, &SeedList{}, &Planting{}, &PlantingList{}, &Cluster{}, &ClusterList{}, &ClusterType{}, &ClusterTypeList{},
		&Template{}, &TemplateList{}, &RolloutPolicy{}, &RolloutPolicyList{}, &GitOpsRepo{}, &GitOpsRepoList{},
	)
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

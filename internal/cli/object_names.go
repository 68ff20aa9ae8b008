package cli

import (
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// shortKinds are the short names of kinds that kubectl knows.
var shortKinds = map[string]string{
	"cm": "ConfigMap", "cj": "CronJob", "crd": "CustomResourceDefinition", "crds": "CustomResourceDefinition", "deploy": "Deployment", "ds": "DaemonSet",
	"ep": "Endpoints", "hpa": "HorizontalPodAutoscaler", "ing": "Ingress", "limits": "LimitRange", "netpol": "NetworkPolicy", "ns": "Namespace",
	"pc": "PriorityClass", "pdb": "PodDisruptionBudget", "po": "Pod", "pv": "PersistentVolume", "pvc": "PersistentVolumeClaim", "quota": "ResourceQuota",
	"rc": "ReplicationController", "rs": "ReplicaSet", "sa": "ServiceAccount", "sc": "StorageClass", "sts": "StatefulSet", "svc": "Service",
}

// means reports whether a person who writes a name as kubectl takes it means an object: KIND/NAME or
// KIND/NAMESPACE/NAME, where KIND may be a kind in any case, the name of its resource (deployments,
// deployments.apps), or short (deploy).
func means(name string, id manifest.ID) bool {
	parts := strings.Split(name, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[len(parts)-1] != id.Name || len(parts) == 3 && parts[1] != id.Namespace {
		return false
	}
	kind, group, qualified := strings.Cut(parts[0], ".")
	if qualified && group != id.Group {
		return false
	}
	if short, ok := shortKinds[strings.ToLower(kind)]; ok {
		kind = short
	}
	kind, want := strings.ToLower(kind), strings.ToLower(id.Kind)
	return kind == want || kind == resourceOf(want)
}

// resourceOf returns the name of a kind's resource, as Kubernetes forms it; kind is in lower case.
func resourceOf(kind string) string {
	switch {
	case kind == "endpoints":
		return kind
	case strings.HasSuffix(kind, "s") || strings.HasSuffix(kind, "x") || strings.HasSuffix(kind, "ch") || strings.HasSuffix(kind, "sh"):
		return kind + "es"
	case strings.HasSuffix(kind, "y") && len(kind) > 1 && !strings.ContainsRune("aeiou", rune(kind[len(kind)-2])):
		return strings.TrimSuffix(kind, "y") + "ies"
	}
	return kind + "s"
}

package installs

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/furrow-dev/furrow/internal/core/manifest"
)

func TestProvidedAPIs(t *testing.T) {
	kind := func(text string) manifest.GroupKind {
		name, group, _ := strings.Cut(text, ".")
		return manifest.GroupKind{Group: group, Kind: name}
	}
	for text, c := range map[string]struct{ has, lacks []string }{
		"cert-manager.io":                      {[]string{"Issuer.cert-manager.io"}, []string{"Order.acme.cert-manager.io", "Issuer.my-cert-manager.io"}},
		"*.upbound.io":                         {[]string{"Bucket.s3.upbound.io", "VPC.ec2.aws.upbound.io"}, []string{"Thing.upbound.io", "Thing.myupbound.io"}},
		"Issuer.cert-manager.io":               {[]string{"Issuer.cert-manager.io"}, []string{"ClusterIssuer.cert-manager.io", "Issuer.example.com"}},
		"AWS*.infrastructure.cluster.x-k8s.io": {[]string{"AWSCluster.infrastructure.cluster.x-k8s.io"}, []string{"AzureCluster.infrastructure.cluster.x-k8s.io", "AWSCluster.controlplane.cluster.x-k8s.io"}},
	} {
		a, ok := ParseAPI(text)
		if !ok {
			t.Errorf("%s is not read", text)
		}
		for _, k := range c.has {
			if !a.Has(kind(k)) {
				t.Errorf("%s lacks %s", text, k)
			}
		}
		for _, k := range c.lacks {
			if a.Has(kind(k)) {
				t.Errorf("%s has %s", text, k)
			}
		}
	}
	for _, text := range []string{"", "*", "*.", "apps", "Issuer", "*Issuer.cert-manager.io", "Issuer.", "cert-manager.io/v1", "a b.c", "Is-.x.y", "..", "*.*.io"} {
		if a, ok := ParseAPI(text); ok {
			t.Errorf("%q is read as %+v", text, a)
		}
	}
}

func TestNamesOfPackages(t *testing.T) {
	for text, want := range map[string]string{
		"cert-manager": "cert-manager", "jetstack/cert-manager": "cert-manager", "oci://quay.io/jetstack/charts/cert-manager:v1.19.0": "cert-manager",
		"xpkg.upbound.io/upbound/provider-aws-s3@sha256:00": "provider-aws-s3", "https://example.com/charts/keda-2.1.tgz": "keda-2.1", "a/": "a", "": "",
	} {
		if got := plainName(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestTheLongestRowOfAPackageCounts(t *testing.T) {
	i := installers()[manifest.GroupKind{Group: "pkg.crossplane.io", Kind: "Provider"}]
	for name, want := range map[string]string{"provider-azuread-users": "azuread.upbound.io", "provider-azure-network": "azure.upbound.io", "provider-family-aws": "aws.upbound.io", "unknown": ""} {
		got := ""
		if apis := i.named(name); len(apis) > 0 {
			got = apis[0].group
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func FuzzProvides(f *testing.F) {
	for _, text := range []string{"cert-manager.io", "*.upbound.io, Issuer.cert-manager.io", "AWS*.infrastructure.cluster.x-k8s.io", ",,", "*", "A.", "é.io"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if a, ok := ParseAPI(text); ok {
			if a.group == "" || a.Has(manifest.GroupKind{Group: "", Kind: "Pod"}) {
				t.Errorf("%q has the core group", text)
			}
			if !a.below && a.kind == "" && !a.Has(manifest.GroupKind{Group: text, Kind: "Any"}) {
				t.Errorf("%q does not have its own group", text)
			}
		}
		if name := plainName(text); strings.ContainsAny(name, "/@:") {
			t.Errorf("%q is %q", text, name)
		}
	})
}

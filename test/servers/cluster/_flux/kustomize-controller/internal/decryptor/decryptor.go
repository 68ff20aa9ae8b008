// Package decryptor refuses to decrypt: the key services of all clouds are half as large as Kubernetes.
package decryptor

import (
	"context"
	"errors"
	"strings"

	"github.com/fluxcd/pkg/cache"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/kustomize/api/resource"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
)

// Decryptor fails for a Kustomization that asks for decryption, and leaves others as they are.
type Decryptor struct {
	kustomization *kustomizev1.Kustomization
}

// Option is an option that nothing reads.
type Option func()

// WithRoot is an option that nothing reads.
func WithRoot(string) Option { return nil }

// WithTokenCache is an option that nothing reads.
func WithTokenCache(cache.TokenCache) Option { return nil }

// WithSOPSAgeSecret is an option that nothing reads.
func WithSOPSAgeSecret(_, _ string) Option { return nil }

// WithVaultConfigMap is an option that nothing reads.
func WithVaultConfigMap(_, _ string) Option { return nil }

// New makes a Decryptor for a Kustomization.
func New(_ client.Client, kustomization *kustomizev1.Kustomization, _ ...Option) (*Decryptor, func(), error) {
	return &Decryptor{kustomization: kustomization}, func() {}, nil
}

// IsDecryptionDisabled says whether an object asks to be left encrypted.
func IsDecryptionDisabled(annotations map[string]string) bool {
	return strings.EqualFold(annotations[kustomizev1.GroupVersion.Group+"/decrypt"], kustomizev1.DisabledValue)
}

// IsEncryptedSecret says whether an object is a Secret that SOPS encrypted.
func IsEncryptedSecret(object *unstructured.Unstructured) bool {
	_, encrypted := object.Object["sops"]
	return encrypted && object.GetKind() == "Secret" && object.GetAPIVersion() == "v1"
}

// ImportKeys fails when the Kustomization asks for decryption.
func (d *Decryptor) ImportKeys(context.Context) error {
	if d.kustomization.Spec.Decryption != nil {
		return errors.New("decryption is not built into this controller")
	}
	return nil
}

// SetAuthOptions does nothing.
func (d *Decryptor) SetAuthOptions(context.Context) {}

// DecryptSources leaves sources as they are.
func (d *Decryptor) DecryptSources(string) error { return nil }

// DecryptResource leaves a resource as it is.
func (d *Decryptor) DecryptResource(*resource.Resource) (*resource.Resource, error) { return nil, nil }

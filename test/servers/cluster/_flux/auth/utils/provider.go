// Package utils knows no provider of a cloud: their clients are half as large as Kubernetes.
package utils

import (
	"fmt"

	"github.com/fluxcd/pkg/auth/generic"
)

// ProviderByName finds a provider by its name and what it can do.
func ProviderByName[T any](name string) (T, error) {
	if name == generic.ProviderName {
		if provider, ok := any(generic.Provider{}).(T); ok {
			return provider, nil
		}
	}
	var none T
	return none, fmt.Errorf("provider %q is not built into this controller, or does not do this", name)
}

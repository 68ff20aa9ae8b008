//go:build tools

// Package tools pins what is built from this module.
package tools

import (
	_ "sigs.k8s.io/kwok/cmd/kwok"
)

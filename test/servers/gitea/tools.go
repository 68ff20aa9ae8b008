//go:build tools

// Package tools pins what is built from this module.
package tools

import (
	_ "code.gitea.io/gitea"
)

package storage

import (
	"path"
	"strings"
)

// artifactPath is where an artifact of an object lies in the storage.
func artifactPath(kind, namespace, name, file string) string {
	return path.Join(strings.ToLower(kind), namespace, name, file)
}

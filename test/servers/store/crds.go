package store

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// mergeOlder adds to the CRDs in the folder crds the versions that only those in the folder older have, as served and
// not stored, and removes older. A CRD that only older has is taken as it is.
func mergeOlder(crds, older string) error {
	entries, err := os.ReadDir(older)
	if err != nil {
		return fmt.Errorf("list the older CRDs: %w", err)
	}
	for _, entry := range entries {
		old, err := os.ReadFile(filepath.Join(older, entry.Name()))
		if err != nil {
			return fmt.Errorf("read an older CRD: %w", err)
		}
		path := filepath.Join(crds, entry.Name())
		content, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			content = old
		} else if err != nil {
			return fmt.Errorf("read a CRD: %w", err)
		}
		merged, err := mergeVersions(content, old)
		if err != nil {
			return fmt.Errorf("merge %s: %w", entry.Name(), err)
		}
		if err := os.WriteFile(path, merged, 0o644); err != nil {
			return fmt.Errorf("write a merged CRD: %w", err)
		}
	}
	return os.RemoveAll(older)
}

// mergeVersions adds to one CRD the versions that only old has, as served and not stored.
func mergeVersions(crd, old []byte) ([]byte, error) {
	var merged, from map[string]any
	if err := yaml.Unmarshal(crd, &merged); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(old, &from); err != nil {
		return nil, err
	}
	spec, versions := versionsOf(merged)
	if spec == nil {
		return nil, fmt.Errorf("it is no CRD")
	}
	known := map[any]bool{}
	for _, version := range versions {
		known[version["name"]] = true
	}
	_, more := versionsOf(from)
	all, _ := spec["versions"].([]any)
	for _, version := range more {
		if !known[version["name"]] {
			version["served"], version["storage"] = true, false
			all = append(all, version)
		}
	}
	spec["versions"] = all
	return yaml.Marshal(merged)
}

// versionsOf gives the spec of a CRD and its versions; nil when it has none.
func versionsOf(crd map[string]any) (spec map[string]any, versions []map[string]any) {
	spec, _ = crd["spec"].(map[string]any)
	list, _ := spec["versions"].([]any)
	for _, item := range list {
		if version, ok := item.(map[string]any); ok {
			versions = append(versions, version)
		}
	}
	return spec, versions
}

// Package validate compares objects with the schemas of their kinds: those of a release of Kubernetes, and those of
// CustomResourceDefinitions with their defaults and CEL rules. It uses the code of API servers.
//
// Schemas of Kubernetes are embedded, by release; go run ./config/kinds writes them. They have types, required fields
// and enumerations. Bounds and combinations of fields are in no schema of Kubernetes.
//
// All functions are pure. A Schema may be used by several goroutines.
package validate

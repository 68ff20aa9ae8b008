package manifest

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	// maxData is what API servers take as the data of one ConfigMap or Secret, in bytes, decoded.
	maxData = 1 << 20
	// maxAnnotations is what they take as the keys and values of all annotations.
	maxAnnotations = 256 << 10
	// maxStored is what etcd takes in one request by default (--max-request-bytes).
	maxStored = 3 << 19
)

// sizeFault returns which limit an object is over, and what to do; "" when it is over none. What it
// counts is less than what API servers count, never more, so nothing is refused that one would
// take:
//   - Custom resources, CustomResourceDefinitions and APIServices are stored as JSON. It
//     is counted without indentation, escapes, null, status and what the server adds:
//     defaults, uid, times, managedFields (Flux applies on the server's side, so there is
//     some for each field). Only pruning could make them smaller.
//   - All other built-in kinds are stored as protobuf, which has no field names; of them
//     only text counts.
//
// The largest CustomResourceDefinitions in use stay far below: that of Prometheus has
// 0.8 MiB even as YAML, that of ApplicationSet 1.3 MiB as YAML and 0.3 MiB as JSON.
func sizeFault(o Object) (message, next string) {
	if o.Encrypted() {
		return "", "" // it is smaller when it is decrypted
	}
	if size := dataSize(o); size > maxData {
		return fmt.Sprintf("its data has %d bytes, and an API server takes at most %d (1 MiB) in one %s", size, maxData, o.ID.Kind), "Split it into several, or keep large content elsewhere."
	}
	size := 0
	for key, value := range o.Annotations() {
		size += len(key) + len(value)
	}
	if size > maxAnnotations {
		return fmt.Sprintf("its annotations have %d bytes, and an API server takes at most %d (256 KiB)", size, maxAnnotations), "Remove what no one reads, such as kubectl.kubernetes.io/last-applied-configuration."
	}
	body := clone(o.Body)
	delete(body, "status")
	asJSON := storedAsJSON(o.ID.GroupKind())
	if size := storedSize(body, asJSON); size > maxStored {
		encoding := "of text"
		if asJSON {
			encoding = "as JSON without white space"
		}
		return fmt.Sprintf("it has %d bytes %s, and etcd takes at most %d (1.5 MiB) in one object", size, encoding, maxStored), "Make it smaller, such as by removing descriptions, or split it."
	}
	return "", ""
}

// dataSize returns the size of the data of a ConfigMap or Secret, decoded, as the API server counts
// it for its limit of 1 MiB. A key of stringData replaces that of data.
func dataSize(o Object) int {
	size := 0
	count := func(field string, length func(string) int) {
		for _, value := range o.Map(field) {
			if s, ok := value.(string); ok {
				size += length(s)
			}
		}
	}
	plain := func(s string) int { return len(s) }
	switch o.ID.GroupKind() {
	case GroupKind{Kind: "ConfigMap"}:
		count("data", plain)
		count("binaryData", decodedSize)
	case GroupKind{Kind: "Secret"}:
		written := o.Map("stringData")
		count("stringData", plain)
		for key, value := range o.Map("data") {
			if s, ok := value.(string); ok && written[key] == nil {
				size += decodedSize(s)
			}
		}
	}
	return size
}

// decodedSize returns how many bytes base64 decodes to.
func decodedSize(s string) int {
	n := len(s) - strings.Count(s, "\n") - strings.Count(s, "\r")
	return n/4*3 - (len(s) - len(strings.TrimRight(s, "=\r\n")))
}

// builtinGroups are the API groups of Kubernetes itself that have a dot. All groups without a dot
// are of Kubernetes itself: a CustomResourceDefinition's group must have one.
var builtinGroups = map[string]bool{
	"admissionregistration.k8s.io": true, "authentication.k8s.io": true, "authorization.k8s.io": true, "certificates.k8s.io": true,
	"coordination.k8s.io": true, "discovery.k8s.io": true, "events.k8s.io": true, "flowcontrol.apiserver.k8s.io": true,
	"internal.apiserver.k8s.io": true, "networking.k8s.io": true, "node.k8s.io": true, "rbac.authorization.k8s.io": true,
	"resource.k8s.io": true, "scheduling.k8s.io": true, "storage.k8s.io": true, "storagemigration.k8s.io": true,
}

// storedAsJSON reports whether objects of a kind are stored as JSON, as custom resources are; those
// of Kubernetes itself are stored as Protocol Buffers, which are smaller.
func storedAsJSON(kind GroupKind) bool {
	return strings.Contains(kind.Group, ".") && !builtinGroups[kind.Group]
}

// storedSize returns the least that a value takes in etcd: as JSON without white space, or else its
// text alone.
func storedSize(value any, asJSON bool) int {
	size := 0
	switch value := value.(type) {
	case map[string]any:
		for key, one := range value {
			if one == nil {
				continue
			}
			if asJSON {
				size += len(key) + len(`"":,`)
			}
			size += storedSize(one, asJSON)
		}
	case []any:
		for _, one := range value {
			size += storedSize(one, asJSON)
			if asJSON {
				size += len(",")
			}
		}
	case string:
		size = len(value)
		if asJSON {
			size += len(`""`)
		}
	case int64:
		if asJSON {
			size = len(strconv.FormatInt(value, 10))
		}
	case bool, float64:
		size = 1
	}
	return size
}

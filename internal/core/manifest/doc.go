// Package manifest reads YAML and JSON text into Kubernetes objects with an
// identity and a position (file:line), and writes them: canonical bytes and
// file names.
//
//	text ─ split ─▶ documents ─ parse ─▶ objects ─ Complete ─▶ objects that Git can hold
//	                                                            ├─ Object.Bytes
//	                                                            └─ FileNames
//
// Invariants:
//   - Values mean what they mean to kubectl and Flux (YAML 1.1 booleans,
//     integers exact as int64); what tools read differently is refused.
//   - Parse(Bytes(o)) has the Body and the ID of o, and equal bodies have equal
//     bytes, whatever the order of keys and the comments they came from.
//   - A document with a top-level sops key comes out byte for byte or not at all.
//   - Work and memory are bounded by the size of the input, whatever is in it.
//
// Everything here is a function of its arguments, without files, sockets,
// clock or logger, and safe for concurrent use; an Object is read-only.
package manifest

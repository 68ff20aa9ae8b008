package manifest

import (
	"bytes"
	"reflect"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// Bytes returns the object's canonical YAML: keys in a stable order, nothing added, comments and
// metadata.creationTimestamp: null left out. These bytes become Git blobs, whose hashes decide
// whether a tier has changed, so the same object must have the same bytes in every release of
// Furrow.
//
// A sops document is returned byte for byte, since its checksum covers the values in their order;
// it is an error if its Body differs from those bytes, as after WithNamespace.
func (o Object) Bytes() ([]byte, error) {
	if o.Encrypted() {
		return o.rawBytes()
	}
	if len(o.Body) == 0 {
		return nil, o.Problem(v1alpha1.ReasonNotAnObject, "the object has no body", "")
	}
	return emit(withoutNullTimestamp(o.Body))
}

// rawBytes parses the bytes again to find whether a With function changed the Body beside them.
func (o Object) rawBytes() ([]byte, error) {
	now, err := Parse(o.Source.File, o.Raw)
	if err != nil {
		return nil, o.Problem(v1alpha1.ReasonInvalidEncryption, "the sops document cannot be read again: "+err.Error(), "Encrypt it again.")
	}
	if len(now) != 1 || !reflect.DeepEqual(now[0].Body, o.Body) {
		return nil, o.Problem(v1alpha1.ReasonInvalidEncryption, "the object is encrypted with sops and must stay byte for byte, but something in it was changed",
			"Make the change before encrypting it.")
	}
	return bytes.Clone(o.Raw), nil
}

// withoutNullTimestamp leaves out metadata.creationTimestamp: null, which Go
// programs write and nobody means.
func withoutNullTimestamp(body map[string]any) map[string]any {
	metadata, ok := body["metadata"].(map[string]any)
	if !ok {
		return body
	}
	if created, ok := metadata["creationTimestamp"]; !ok || created != nil {
		return body
	}
	metadata = clone(metadata)
	delete(metadata, "creationTimestamp")
	body = clone(body)
	body["metadata"] = metadata
	return body
}

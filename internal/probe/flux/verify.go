package flux

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/furrow-dev/furrow/internal/core/health"
	"github.com/furrow-dev/furrow/internal/git/signature"
)

// sshSuffix ends the names of SSH keys in the Secret of a GitRepository; all else is OpenPGP.
const sshSuffix = ".sshpub"

// verifyOf returns how a GitRepository verifies commits, without the keys.
func verifyOf(u *unstructured.Unstructured) health.Verify {
	spec, ok, _ := unstructured.NestedMap(u.Object, "spec", "verify")
	if !ok || u.GetKind() != kindGitRepository {
		return health.Verify{}
	}
	return health.Verify{
		Mode: cmp.Or(text(spec, "mode"), "HEAD"), Secret: name{u.GetNamespace(), text(spec, "secretRef", "name")}.String(),
		Failed: conditionOf(u.Object, "SourceVerified").status == "False",
	}
}

// verifyKeys adds the keys of a GitRepository, which are read by name; cluster.mu is held.
func (c *cluster) verifyKeys(v health.Verify) health.Verify {
	if v.Mode == "" {
		return v
	}
	namespace, secret, _ := strings.Cut(v.Secret, "/")
	o := c.watched(objectKey{schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, name{namespace, secret}}, judgeKeys)
	switch keys, ok := o.seen.kept.(string); {
	case !o.seen.known:
		v.Unknown = o.seen.why.text
	case ok:
		v.Keys = keys
	}
	return v
}

// judgeKeys keeps the fingerprints of public keys, and nothing else of the Secret. A key that cannot be
// read verifies nothing.
func judgeKeys(u *unstructured.Unstructured) (any, time.Duration) {
	if u == nil {
		return nil, rereadInterval
	}
	var ids []string
	data, _, _ := unstructured.NestedStringMap(u.Object, "data")
	for _, at := range slices.Sorted(maps.Keys(data)) {
		content, err := base64.StdEncoding.DecodeString(data[at])
		if err != nil {
			continue
		}
		ring, err := signature.Parse(string(content))
		if err != nil {
			continue
		}
		for _, key := range ring {
			if key.IsSSH() == strings.HasSuffix(at, sshSuffix) {
				ids = append(ids, key.ID())
			}
		}
	}
	return strings.Join(ids, " "), rereadInterval
}

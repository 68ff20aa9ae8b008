package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	yaml3 "go.yaml.in/yaml/v3"
)

// sopsValue is what SOPS makes of a value. It leaves empty text and null as they are.
var sopsValue = regexp.MustCompile(`^ENC\[AES256_GCM,data:[A-Za-z0-9+/]+={0,2},iv:[A-Za-z0-9+/]+={0,2},tag:[A-Za-z0-9+/]+={0,2},type:(str|int|float|bool|bytes|time|comment)\]$`)

func isSopsValue(value any) bool {
	s, ok := value.(string)
	return ok && sopsValue.MatchString(s)
}

// sopsFields are the keys that SOPS writes below its own, at any depth.
var sopsFields = []string{
	"mac", "version", "lastmodified", "mac_only_encrypted", "shamir_threshold", "key_groups",
	"encrypted_regex", "encrypted_suffix", "encrypted_comment_regex", "unencrypted_regex", "unencrypted_suffix", "unencrypted_comment_regex",
	"age", "recipient", "enc", "created_at",
	"pgp", "fp",
	"kms", "arn", "role", "context", "aws_profile",
	"gcp_kms", "resource_id",
	"azure_kv", "vault_url", "name",
	"hc_vault", "vault", "vault_address", "engine_path", "key_name",
	"hckms", "key_id",
}

// strangeField returns the first field below the sops key that SOPS does not write and that can be
// read: SOPS does not encrypt what is there. The keys of a context are people's own, and AWS has
// them in its log.
func strangeField(path string, value any) string {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			at := path + "." + fieldName(key)
			if !slices.Contains(sopsFields, key) && leafWith(at, value[key], isPlain) != "" {
				return at
			}
			if found := strangeField(at, value[key]); found != "" && key != "context" {
				return found
			}
		}
	case []any:
		for i, item := range value {
			if found := strangeField(fmt.Sprintf("%s[%d]", path, i), item); found != "" {
				return found
			}
		}
	}
	return ""
}

const (
	unreadable   = "the document cannot be read again, so the object counts as not encrypted"
	notFromSops  = "it has YAML anchors or merges, which SOPS does not write, so the object counts as not encrypted"
	taggedValue  = "it has YAML tags or directives, which SOPS does not write, so the object counts as not encrypted"
	plainComment = "a comment after the first key is not encrypted, and everyone with access to the GitOps repository could read it"
)

// exposedInText finds what can be read in a document that is kept byte for byte, beside
// the values that it comes to: comments among them, and what a merge, an anchor or a tag
// has that no value shows. Text above the first key may be readable: that is where
// licences are.
func exposedInText(raw []byte, next string) *Problem {
	documents := split(raw)
	if len(documents) != 1 {
		return notSops("", unreadable, next)
	}
	if trees, _, err := readJSON(documents[0]); err == nil && len(trees) == 1 {
		return nil
	}
	t, err := readYAML(documents[0])
	switch {
	case err != nil:
		return notSops("", unreadable, next)
	case hasNode(t.root, isIndirect):
		return notSops("", notFromSops, next)
	case hasNode(t.root, isTagged), directive.Match(documents[0].text):
		return notSops("", taggedValue, "Remove them, or encrypt it again")
	case hasPlainComment(documents[0].text, t.root):
		return plainSecret("", plainComment, "Remove the comment, or let SOPS encrypt it")
	}
	return nil
}

func hasNode(node *yaml3.Node, is func(*yaml3.Node) bool) bool {
	return is(node) || slices.ContainsFunc(node.Content, func(child *yaml3.Node) bool { return hasNode(child, is) })
}

func isIndirect(node *yaml3.Node) bool {
	return node.Anchor != "" || node.Kind == yaml3.AliasNode || isMerge(node)
}

func isTagged(node *yaml3.Node) bool { return node.Style&yaml3.TaggedStyle != 0 }

var (
	directive     = regexp.MustCompile(`(?m)^%`) // split makes comments of those that name the version
	commentStart  = regexp.MustCompile(`(?m)(?:^|[ \t])#`)
	spaceThenHash = regexp.MustCompile(` #`)
)

// hasPlainComment reports whether there is a readable comment from the first key on. It counts each
// '#' that may begin a comment; those that the document's scalars do not account for are comments.
// Asking the parser for its comments is not enough: it loses some.
func hasPlainComment(text []byte, root *yaml3.Node) bool {
	lines := strings.SplitAfter(string(text), "\n")
	return plainHashes(commentStart, strings.Join(lines[min(max(root.Line-1, 0), len(lines)):], "")) > hashesInScalars(root)
}

// hashesInScalars counts each '#' in scalars that hasPlainComment counts in the text. Where text is
// escaped it finds too few, never too many: such a document is refused although nothing in it can
// be read, rather than the reverse.
func hashesInScalars(node *yaml3.Node) int {
	sum := 0
	switch {
	case node.Kind == yaml3.ScalarNode && node.Style&(yaml3.LiteralStyle|yaml3.FoldedStyle) != 0:
		sum = plainHashes(commentStart, node.Value)
	case node.Kind == yaml3.ScalarNode && !plain(node):
		sum = plainHashes(spaceThenHash, node.Value)
	}
	for _, child := range node.Content {
		sum += hashesInScalars(child)
	}
	return sum
}

// plainHashes counts the positions at which a line continues with text that SOPS did not
// encrypt.
func plainHashes(start *regexp.Regexp, text string) int {
	count := 0
	for _, at := range start.FindAllStringIndex(text, -1) {
		line, _, _ := strings.Cut(text[at[1]:], "\n")
		if line = strings.Trim(line, "# \t\r"); line != "" && !isSopsValue(line) {
			count++
		}
	}
	return count
}

package catalog

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// A document of Furrow that is written nearly right is an error: read as somebody else's, it would be gone
// without a word, and what it declares would be removed.

// nearMiss returns the problem of a document that is Furrow's but for a mistake in its API group; false
// for all others. The kind counts as well: groups of others may resemble ours.
func nearMiss(o manifest.Object) (manifest.Problem, bool) {
	if o.ID.Group == v1alpha1.Group || !nearGroup(o.APIVersion()) || !nearKind(o.ID.Kind) {
		return manifest.Problem{}, false
	}
	next := "Write " + v1alpha1.APIVersion + "."
	if like := likeKind(o.ID.Kind); like != o.ID.Kind {
		next = fmt.Sprintf("Write %s and kind: %s.", v1alpha1.APIVersion, like)
	}
	return o.Problem(v1alpha1.ReasonUnknownKind, fmt.Sprintf("apiVersion %s is unknown", o.APIVersion()), next).WithField("apiVersion"), true
}

// nearKind reports whether a kind is one of Furrow's, but for its case or a few letters.
func nearKind(kind string) bool { return likeKind(kind) != "" || mayBeControlPlane(kind) }

// likeKind returns the kind of Furrow that is written so, or nearly so; empty where there is none.
func likeKind(kind string) string {
	for _, ours := range kinds {
		if strings.EqualFold(ours, kind) {
			return ours
		}
	}
	if like := manifest.Nearest(kind, kinds)[0]; manifest.Distance(strings.ToLower(kind), strings.ToLower(like)) <= slip {
		return like
	}
	return ""
}

// nearGroup reports whether an apiVersion has Furrow's group, but for a mistake in writing it: a few
// letters, another domain, a part too many, or no group at all. No kind of Kubernetes without a group has
// the name of one of Furrow's.
func nearGroup(apiVersion string) bool {
	group, version, versioned := strings.Cut(strings.ToLower(apiVersion), "/")
	switch {
	case len(group) > 3*len(v1alpha1.Group):
		return false
	case !versioned && strings.HasPrefix(group, "v") || group == "":
		return true
	case version == "" && versioned:
		return nearGroup(group)
	}
	const most = 3 // furrow.io
	if manifest.Distance(group, v1alpha1.Group) <= most {
		return true
	}
	name, _, _ := strings.Cut(v1alpha1.Group, ".")
	return slices.ContainsFunc(strings.FieldsFunc(group, func(r rune) bool { return r == '.' || r == ':' || r == '-' || r == '_' }), func(part string) bool {
		return manifest.Distance(part, name) <= 1
	})
}

// mayDeclare reports whether a file may hold a document of Furrow: it names the group, or has a kind of
// Furrow with an apiVersion that is nearly right, or with none. Only such a file is parsed.
func mayDeclare(text []byte) bool {
	if bytes.Contains(text, []byte(v1alpha1.Group+"/")) {
		return true
	}
	if !slices.ContainsFunc(valuesOf(text, "kind"), nearKind) {
		return false
	}
	versions := valuesOf(text, "apiVersion")
	return len(versions) == 0 && len(valuesOf(text, "metadata")) > 0 || slices.ContainsFunc(versions, nearGroup)
}

// valuesOf returns what follows a key anywhere in a text of YAML or JSON, each value once. It is cheap,
// and finds more than a parser would.
func valuesOf(text []byte, key string) []string {
	var values []string
	seen := map[string]bool{}
	for {
		_, rest, found := bytes.Cut(text, []byte(key))
		if !found {
			return values
		}
		text = rest
		rest = bytes.TrimLeft(bytes.TrimLeft(rest, `"'`), " \t")
		if len(rest) == 0 || rest[0] != ':' {
			continue
		}
		line, _, _ := bytes.Cut(rest[1:], []byte("\n"))
		value := strings.TrimLeft(string(line), " \t\"'")
		if end := strings.IndexAny(value, " \t\r\"',}#"); end >= 0 {
			value = value[:end]
		}
		if !seen[value] {
			seen[value], values = true, append(values, value)
		}
	}
}

// commentedOut returns the problems of documents of Furrow in which every line is a comment.
func commentedOut(file string, text []byte) manifest.Problems {
	if !bytes.Contains(text, []byte("#")) {
		return nil
	}
	var problems manifest.Problems
	begin, line := 1, 0
	var comment bytes.Buffer
	commented := true
	end := func() {
		if declares := mayDeclareAtTop(comment.Bytes()); commented && declares {
			problems = append(problems, manifest.Problem{Reason: v1alpha1.ReasonFileSkipped, Source: manifest.Source{File: file, Line: begin}, Message: "a document of Furrow is commented out here, so what it declares is not there", Next: "Remove the comment signs, or the lines."})
		}
		comment.Reset()
		commented, begin = true, line+1
	}
	for l := range bytes.Lines(text) {
		line++
		switch trimmed := bytes.TrimSpace(l); {
		case bytes.HasPrefix(l, []byte("---")):
			end()
		case len(trimmed) == 0:
		case trimmed[0] == '#':
			if comment.Len() == 0 {
				begin = line
			}
			content := bytes.TrimLeft(trimmed, "#")
			comment.Write(bytes.TrimPrefix(content, []byte(" ")))
			comment.WriteByte('\n')
		default:
			commented = false
		}
	}
	end()
	return problems
}

// mayDeclareAtTop reports whether a text begins lines with an apiVersion and a kind of Furrow, or nearly
// so, as a manifest does and a text about manifests does not.
func mayDeclareAtTop(text []byte) bool {
	var group, kind bool
	for line := range bytes.Lines(text) {
		key, value, found := strings.Cut(string(line), ":")
		value = strings.Trim(value, " \t\r\n\"'")
		switch {
		case !found:
		case key == "apiVersion":
			group = strings.HasPrefix(value, v1alpha1.Group+"/") || strings.Contains(value, "/") && nearGroup(value)
		case key == "kind":
			kind = nearKind(value)
		}
	}
	return group && kind
}

package catalog

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
)

// ownerPart matches both parts of an owner, which become parts of branch names.
var ownerPart = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,98}[A-Za-z0-9])?$`)

// CheckOwnerPart refuses a control-plane id, or an environment, that cannot be part of an owner.
func CheckOwnerPart(what, name string) error {
	if !ownerPart.MatchString(name) || strings.Contains(name, "..") || strings.HasSuffix(name, ".lock") {
		return manifest.Problem{Reason: v1alpha1.ReasonInvalidOwner, Field: what,
			Message: fmt.Sprintf("%q is not a valid %s: use at most 100 letters, digits, '-', '_' and '.', and begin and end with a letter or digit", name, what)}
	}
	return nil
}

// Owner is <control-plane id>/<environment>: by the ControlPlane document, or as given where there
// is none. An error says that nobody knows whose plans those of this control plane are.
func (c *Catalog) Owner(id, environment string) (string, error) {
	switch {
	case c.identityErr != nil:
		return "", c.identityErr
	case c.ControlPlane != nil:
		id = c.ControlPlane.Metadata.Name
	}
	if err := CheckOwnerPart("control-plane id", id); err != nil {
		return "", fmt.Errorf("%w. Commit a ControlPlane document with a valid name, or set one with --id", err)
	}
	return id + "/" + environment, nil
}

// DeletionGuard is that of the ControlPlane document, or the given one where it has none.
func (c *Catalog) DeletionGuard(given int) int {
	if c.ControlPlane == nil || c.ControlPlane.Spec.DeletionGuard == nil {
		return given
	}
	return *c.ControlPlane.Spec.DeletionGuard
}

// Strict reports whether missing dependencies are errors: because the caller or the ControlPlane
// document says so.
func (c *Catalog) Strict(given bool) bool {
	return given || c.ControlPlane != nil && c.ControlPlane.Spec.Strict
}

// Enforces reports whether a seed is held by a field that does not fit the schema of its kind.
func (c *Catalog) Enforces() bool {
	return c.ControlPlane != nil && c.ControlPlane.Spec.Validation == v1alpha1.ValidationEnforce
}

// Home returns the GitOps repository that has the status: the first by name, also while its
// document cannot be used.
func (c *Catalog) Home() string {
	names := slices.Collect(maps.Keys(c.Repos))
	for key := range c.Inventory.faults.named {
		if key.kind == "GitOpsRepo" {
			names = append(names, key.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return slices.Min(names)
}

// takeControlPlane reads the document by which the owner is known. While it cannot be read, or
// while there are two, the owner is unknown: nothing may then be done under another name.
func (d *documents) takeControlPlane(o manifest.Object) error {
	doc, err := decode[v1alpha1.ControlPlane](o)
	guard := doc.Spec.DeletionGuard
	switch errs := validation.IsDNS1123Label(o.ID.Name); {
	case err != nil:
	case d.controlPlane != nil:
		err = o.Problem(v1alpha1.ReasonDuplicateDocument, fmt.Sprintf("ControlPlane %q is declared at %s", d.controlPlane.Metadata.Name, d.positions["ControlPlane/"+d.controlPlane.Metadata.Name]), "Keep one of the two documents.")
	case len(errs) > 0:
		err = o.Problem(v1alpha1.ReasonInvalidName, "the name is not a valid DNS label: "+errs[0], "Correct metadata.name.").WithField("metadata.name")
	case guard != nil && (*guard < 0 || *guard > 100):
		err = o.Problem(v1alpha1.ReasonInvalidField, fmt.Sprintf("spec.deletionGuard is %d", *guard), "Write a percentage from 0 to 100.").WithField("spec.deletionGuard")
	case doc.Spec.Validation != "" && doc.Spec.Validation != v1alpha1.ValidationWarn && doc.Spec.Validation != v1alpha1.ValidationEnforce:
		err = o.Problem(v1alpha1.ReasonInvalidField, fmt.Sprintf("spec.validation %q is unknown", doc.Spec.Validation), "Write Warn or Enforce.").WithField("spec.validation")
	default:
		if problems := readinessProblems(doc.Spec.Readiness, o.Title(), o.Source, o.Lines); len(problems) > 0 {
			err = problems
			break
		}
		d.controlPlane = &doc
	}
	d.identityErr = cmp.Or(d.identityErr, err)
	return err
}

// mayBeControlPlane reports whether a kind is ControlPlane, or a mistake in writing it.
func mayBeControlPlane(kind string) bool {
	const most = 4 // CtrlPlane, Control_Planes
	kind = strings.ToLower(kind)
	return strings.Contains(kind, "controlpl") || manifest.Distance(kind[:min(len(kind), 100)], "controlplane") <= most
}

// mayHoldControlPlane says the same of a file that cannot be parsed.
func mayHoldControlPlane(text []byte) bool {
	text = bytes.ToLower(bytes.ReplaceAll(text, []byte{0}, nil)) // UTF-16, or nearly
	if bytes.Contains(text, []byte("controlpl")) {
		return true
	}
	for line := range bytes.Lines(text) {
		if kind, ok := bytes.CutPrefix(bytes.TrimLeft(line, " \t{\"'"), []byte("kind")); ok && mayBeControlPlane(string(bytes.Trim(kind, " \t\r\n\"':,}"))) {
			return true
		}
	}
	return false
}

// MayNameOwner returns a file that cannot be read and may hold a ControlPlane document, whatever
// little is known of it; false where there is none, or the tree has such a document. Whether it
// ever had one, only what is planted can say.
func (c *Catalog) MayNameOwner() (manifest.Source, bool) {
	f := c.Inventory.faults
	switch {
	case c.ControlPlane != nil:
	case len(f.unread) > 0:
		return f.unread[0].Source, true
	case len(f.lost) > 0:
		return f.lost[0], true
	}
	return manifest.Source{}, false
}

// ownerUnknown says why nobody knows whose control plane it is.
func (d *documents) ownerUnknown() error {
	if d.identityErr == nil && d.controlPlane == nil {
		return d.unparsed
	}
	return d.identityErr
}

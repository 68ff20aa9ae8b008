package manifest

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/furrow-dev/furrow/api/v1alpha1"
)

// Version is that of a file which one Furrow writes and another one may read. A minor version adds
// fields; a major one changes what a field means. The zero value is that of a file without a
// version.
type Version struct{ Major, Minor int }

func (v Version) String() string { return fmt.Sprintf("%d.%d", v.Major, v.Minor) }

// Newer reports whether a file of version v may have fields that a writer of the other version would lose.
func (v Version) Newer(than Version) bool {
	return cmp.Or(cmp.Compare(v.Major, than.Major), cmp.Compare(v.Minor, than.Minor)) > 0
}

// MarshalText implements encoding.TextMarshaler.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (v *Version) UnmarshalText(text []byte) error {
	major, minor, _ := strings.Cut(string(text), ".")
	var err error
	if v.Major, err = strconv.Atoi(major); err == nil && minor != "" {
		v.Minor, err = strconv.Atoi(minor)
	}
	if err != nil {
		return Problem{Reason: v1alpha1.ReasonUnsupportedVersion, Message: fmt.Sprintf("%q is not a version", text), Next: "Write it as in 1.0"}
	}
	return nil
}

// Reads says why a reader of version v cannot read a file of another version: one of a newer minor
// version it can.
func (v Version) Reads(file Version) error {
	switch {
	case file.Major > v.Major:
		return Problem{Reason: v1alpha1.ReasonUnsupportedVersion, Message: fmt.Sprintf("it is of version %s, and this Furrow reads version %d", file, v.Major), Next: "Use the version of Furrow that wrote it, or a newer one"}
	case file.Major < v.Major:
		return Problem{Reason: v1alpha1.ReasonUnsupportedVersion, Message: fmt.Sprintf("it is of version %s, and this Furrow reads version %d", file, v.Major), Next: "The next pass writes it again"}
	}
	return nil
}

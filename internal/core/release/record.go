package release

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/plan"
)

const (
	// RecordKind is what a record of a rollout has in kind.
	RecordKind = "RolloutRecord"
	// RecordFile is its file on the branch.
	RecordFile = "rollout.yaml"
)

// recordVersion is the version of the record.
var recordVersion = manifest.Version{Major: 1, Minor: 0}

// Record is what cannot be observed of a rollout and so is kept in Git: what people asked for, and
// since when waves have been released. It is on a branch of the repository that is the seed's home.
type Record struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Version    manifest.Version `json:"version"`
	Seed       string           `json:"seed"`
	// Paused is set while a person has the rollout paused.
	Paused *Request `json:"paused,omitempty"`
	// Skips are the waves that a person does not want to be waited for.
	Skips []Skip `json:"skips,omitempty"`
	// Retried is set where a person wants the present plan proposed again.
	Retried *Retry `json:"retried,omitempty"`
	// Soaks say since when waves have been released.
	Soaks []Soak `json:"soaks,omitempty"`
}

// Request is who asked for something, when and why.
type Request struct {
	By  string    `json:"by,omitempty"`
	At  time.Time `json:"at,omitzero"`
	Why string    `json:"why,omitempty"`
}

// String returns the request for people, as in "by Ada at 2026-11-23 09:00 UTC because: inventory".
func (r Request) String() string {
	var parts []string
	if r.By != "" {
		parts = append(parts, "by "+manifest.Printable(r.By))
	}
	if at := r.When(); at != "" {
		parts = append(parts, "at "+at)
	}
	if r.Why != "" {
		parts = append(parts, "because: "+manifest.Printable(r.Why))
	}
	return strings.Join(parts, " ")
}

// When returns the time of the request for people; empty where it is not known.
func (r Request) When() string {
	if r.At.IsZero() {
		return ""
	}
	return showTime(r.At)
}

// Skip is a request to go on without a wave, or without any pace at all.
type Skip struct {
	// Wave is empty where everything may be proposed at once.
	Wave string `json:"wave,omitempty"`
	// Inputs is the digest of the inputs of the plan for which it counts.
	Inputs  string `json:"inputs"`
	Request `json:",inline"`
}

// Retry is a request to propose again what was rejected, reverted, or held.
type Retry struct {
	// Inputs is the digest of the inputs of the plan for which it counts.
	Inputs  string `json:"inputs"`
	Request `json:",inline"`
}

// Soak is since when the tiers of a wave have been released, or gone, without one of them failing.
type Soak struct {
	Wave string `json:"wave"`
	// Leaving reports whether it is about what leaves the wave's clusters.
	Leaving bool `json:"leaving,omitempty"`
	// Digest is that of the tiers' entries: with others, it begins anew.
	Digest string    `json:"digest"`
	Since  time.Time `json:"since"`
}

// DecodeRecord reads the record of a seed from its branch.
func DecodeRecord(seed, branch string, data []byte) (*Record, error) {
	out, next := &Record{}, "To forget its pauses, skips and soaks, delete "+deletable(branch)
	err := yaml.Unmarshal(data, out)
	switch {
	case err != nil:
		return nil, manifest.Problem{Reason: v1alpha1.ReasonInvalidYAML, Seed: seed, Path: RecordFile, Message: fmt.Sprintf("the record of the rollout cannot be read: %v", err), Next: next}
	case out.Kind != RecordKind || out.Seed != seed:
		return nil, manifest.Problem{Reason: v1alpha1.ReasonInvalidYAML, Seed: seed, Path: RecordFile, Message: "it is not the record of the seed's rollout", Next: next}
	}
	return out, manifest.About(manifest.Problem{Seed: seed, Path: RecordFile}, recordVersion.Reads(out.Version))
}

// Encode writes the record.
func (r *Record) Encode() ([]byte, error) {
	out := *r
	out.APIVersion, out.Kind, out.Version = v1alpha1.APIVersion, RecordKind, recordVersion
	return manifest.YAML(&out)
}

// Empty reports whether nothing is recorded.
func (r *Record) Empty() bool {
	return r == nil || r.Paused == nil && r.Retried == nil && len(r.Skips) == 0 && len(r.Soaks) == 0
}

// Equal reports whether two records say the same.
func (r *Record) Equal(other *Record) bool {
	if r.Empty() || other.Empty() {
		return r.Empty() == other.Empty()
	}
	essence := func(r *Record) Record {
		return Record{Paused: r.Paused, Skips: r.Skips, Retried: r.Retried, Soaks: r.Soaks}
	}
	is, errIs := json.Marshal(essence(r))
	was, errWas := json.Marshal(essence(other))
	return errIs == nil && errWas == nil && bytes.Equal(is, was)
}

// Skipping returns the request to go on without a wave of a plan, or, for the empty name, without any
// pace; nil where there is none.
func (r *Record) Skipping(p *plan.Plan, wave string) *Skip {
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Skips, func(s Skip) bool { return s.Wave == wave && s.Inputs == p.Inputs })
	if i < 0 {
		return nil
	}
	return &r.Skips[i]
}

// Retrying returns the request to propose a plan again; nil where there is none.
func (r *Record) Retrying(p *plan.Plan) *Request {
	if r == nil || r.Retried == nil || r.Retried.Inputs != p.Inputs {
		return nil
	}
	return &r.Retried.Request
}

// soak returns since when a wave has been released; nil where that is not recorded.
func (r *Record) soak(of Soak) *Soak {
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Soaks, func(s Soak) bool { return s.Wave == of.Wave && s.Leaving == of.Leaving })
	if i < 0 {
		return nil
	}
	return &r.Soaks[i]
}

// showTime shows a moment for people.
func showTime(at time.Time) string { return at.UTC().Format("2006-01-02 15:04 MST") }

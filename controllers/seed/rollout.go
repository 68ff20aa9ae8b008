package seed

import (
	"context"
	"fmt"

	"github.com/furrow-dev/furrow/api/v1alpha1"
	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/engine"
)

// rolloutRequest is what a person asks of a rollout.
type rolloutRequest struct{ verb, wave, by, why string }

// parseRollout reads an annotation, as in "skip canary 2026-11-23T09:00:00Z by ada because it is rebuilt".
func parseRollout(value string) rolloutRequest {
	words, by, why := v1alpha1.ParseRequest(value)
	out := rolloutRequest{by: by, why: why}
	if len(words) > 0 {
		out.verb = words[0]
	}
	if len(words) > 1 && out.verb == "skip" {
		out.wave = words[1]
	}
	return out
}

// rollout changes the record of a seed's rollout. What is so already is done.
func rollout(ctx context.Context, q *engine.Requests, seed, value string) error {
	var err error
	switch r := parseRollout(value); {
	case r.verb == "pause":
		_, err = q.Pause(ctx, seed, r.by, r.why)
	case r.verb == "resume":
		_, err = q.Resume(ctx, seed)
	case r.verb == "skip" && r.wave != "":
		_, err = q.Skip(ctx, seed, r.wave, r.by, r.why)
	case r.verb == "now":
		_, err = q.Skip(ctx, seed, "", r.by, r.why)
	default:
		return manifest.Problem{Reason: v1alpha1.ReasonInvalidField, Seed: seed, Message: fmt.Sprintf("annotation %s is %q", v1alpha1.AnnotationRollout, manifest.Printable(value)), Next: "Write pause, resume, skip and the name of a wave, or now; then the time"}
	}
	return err
}

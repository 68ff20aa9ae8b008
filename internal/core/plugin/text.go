package plugin

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/furrow-dev/furrow/internal/core/manifest"
	"github.com/furrow-dev/furrow/internal/core/redact"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// maxText bounds what a message repeats of a plugin's texts. MaxStderr is how much of the standard
// error is read: more than is shown, since what is cut off may be the first half of a secret.
const (
	maxText   = 2000
	MaxStderr = 16 << 10
)

// hidden are the values that no text of a plugin may show.
type hidden redact.Secrets

// secretsIn returns the values of the Secrets that a plugin reads, as they are and in base64, the
// longest first. Short ones would hide every second word.
func secretsIn(objects []manifest.Object) hidden {
	const shortest = 4
	values := map[string]bool{}
	for _, o := range objects {
		if o.ID.Group != "" || o.ID.Kind != "Secret" {
			continue
		}
		for _, value := range o.Map("stringData") {
			if text, ok := value.(string); ok {
				values[text], values[base64.StdEncoding.EncodeToString([]byte(text))] = true, true
			}
		}
		for _, value := range o.Map("data") {
			text, _ := value.(string)
			values[text] = true
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
				values[string(plain)] = true
			}
		}
	}
	var found hidden
	for _, value := range slices.Sorted(maps.Keys(values)) {
		for _, v := range append(strings.Split(value, "\n"), value) {
			if v = strings.TrimSpace(v); len(v) >= shortest {
				found = append(found, v)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return len(b) - len(a) })
	return found
}

// clean returns a text of the plugin on one line, bounded and without secrets.
func (o *output) clean(text string) string {
	return manifest.Printable(truncate.Line(o.redacted(text), maxText))
}

func (o *output) redacted(text string) string {
	return redact.URLsIn(redact.Secrets(o.hidden).In(text))
}

// stderr returns, for the end of a message, the end of what the plugin wrote on its standard error:
// programs say last why they fail.
func (o *output) stderr(run Run) string {
	text := strings.TrimSpace(o.redacted(run.Stderr))
	if text == "" {
		return ""
	}
	if len(text) > maxText {
		text = truncate.Ellipsis + strings.ToValidUTF8(text[len(text)-maxText:], "")
	}
	return ": " + manifest.Printable(truncate.Line(text, 2*maxText))
}

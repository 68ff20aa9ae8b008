package flux

import (
	kind "github.com/furrow-dev/furrow/internal/core/delivery/flux"

	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"github.com/furrow-dev/furrow/internal/core/redact"
	"github.com/furrow-dev/furrow/internal/core/truncate"
)

// maxMessage bounds a message, in bytes.
const maxMessage = 600

// unstable lists text that differs between two attempts in the same situation, and its
// replacement. The order matters.
var unstable = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`,? next run in ` + duration), ""},
	{regexp.MustCompile(` (after|in|within|took) ` + fraction), ""},
	{regexp.MustCompile(` after ` + duration), ""},
	// A directory that is made for one build.
	{regexp.MustCompile(`[^\s'"]*/kustomization-\d+/?`), ""},
	// Our side of a connection has a new port each time.
	{regexp.MustCompile(`(\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.%]+\]):\d+->`), ""},
}

const (
	duration = `(?:\d+(?:\.\d+)?(?:ns|µs|us|ms|s|m|h))+\b`
	// fraction is a duration that was measured rather than configured.
	fraction = `(?:(?:\d+[hm])*\d+\.\d+(?:ns|µs|us|ms|s)|\d+(?:ns|µs|us|ms))\b`
)

var (
	waiting = regexp.MustCompile(`(?:` + kind.OutOfTime + `|stalled resources): \[(.*)\]`)
	// entry is where the next object of such a list begins.
	entry = regexp.MustCompile(`, (?:[A-Z][A-Za-z0-9]*/\S+ status: '|can't determine status for )`)
)

// stable makes a message of Flux or of a server fit to be kept: the same situation gives the same
// text, on one line, without credentials, cut to a sane length. A message that changed with each
// attempt would have the state written, and people notified, again and again.
func stable(message string) string {
	message = strings.Join(strings.Fields(strings.ToValidUTF8(message, "\uFFFD")), " ")
	message = strings.Map(printable, message)
	message = redact.URLsIn(message)
	for _, u := range unstable {
		message = u.pattern.ReplaceAllString(message, u.with)
	}
	return cut(sortWaiting(message))
}

// printable drops what a terminal would act upon.
func printable(r rune) rune {
	if unicode.IsControl(r) {
		return -1
	}
	return r
}

// sortWaiting orders the objects that a health check waits for, which Flux lists in any
// order. Those that failed come first: the verdict searches for one, and the end may be
// cut.
func sortWaiting(message string) string {
	at := waiting.FindStringSubmatchIndex(message)
	if at == nil {
		return message
	}
	list, objects := message[at[2]:at[3]], []string{}
	for {
		next := entry.FindStringIndex(list)
		if next == nil {
			break
		}
		objects, list = append(objects, list[:next[0]]), list[next[0]+2:]
	}
	objects = append(objects, list)
	slices.SortFunc(objects, func(a, b string) int {
		return cmp.Or(strings.Count(b, kind.ObjectFailed)-strings.Count(a, kind.ObjectFailed), strings.Compare(a, b))
	})
	return message[:at[2]] + strings.Join(objects, ", ") + message[at[3]:]
}

// cut bounds the message but keeps the part that reports a timeout.
func cut(message string) string {
	const more = truncate.Ellipsis
	if len(message) <= maxMessage {
		return message
	}
	end := more
	if strings.LastIndex(message, kind.OutOfTime) > maxMessage-len(kind.OutOfTime)-len(more) && !strings.Contains(message[:maxMessage-len(kind.OutOfTime)-2*len(more)-2], kind.OutOfTime) {
		end = more + " " + kind.OutOfTime + " " + more
	}
	return truncate.Prefix(message, maxMessage-len(end)) + end
}

// explain returns for people why a request did not get an answer. The text must be the same
// whenever the reason is (stable), because every new text is a change of a status.
func explain(err error) string {
	var dns *net.DNSError
	var asked *url.Error
	var unknownCA x509.UnknownAuthorityError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &dns) && !dns.Timeout():
		return "the name " + dns.Name + " cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "the connection was reset"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to it"
	case errors.As(err, &unknownCA):
		return "its certificate is signed by an authority that the kubeconfig does not name"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.As(err, &asked):
		return stable(asked.Err.Error())
	}
	return stable(err.Error())
}

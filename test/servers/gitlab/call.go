package gitlab

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/furrow-dev/furrow/test/servers/bare"
)

type object = map[string]any

// answer is what a handler returns; nil where a helper found nothing to refuse.
type answer struct {
	status int
	body   any
	header map[string]string
}

func (a *answer) Error() string {
	body, err := json.Marshal(a.body)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s", a.status, body)
}

func refuse(status int, message any) *answer {
	return &answer{status: status, body: object{"message": message}}
}

func notFound(what string) *answer {
	return refuse(http.StatusNotFound, strings.Join(strings.Fields("404 "+what+" Not Found"), " "))
}

func forbidden() *answer { return refuse(http.StatusForbidden, "403 Forbidden") }

// call is one request of the API.
type call struct {
	s         *Server
	request   *http.Request
	operation *operation
	path      map[string]string
	given     object
	asker     *token
	project   *project
}

func (c *call) text(name string) string {
	text, _ := c.given[name].(string)
	return text
}

// flag is nil for a parameter that is not there.
func (c *call) flag(name string) *bool {
	if value, ok := c.given[name].(bool); ok {
		return &value
	}
	return nil
}

func (c *call) has(name string) bool {
	_, ok := c.given[name]
	return ok
}

func (c *call) number(name string, otherwise int) int {
	if value, ok := c.given[name].(float64); ok && value > 0 {
		return int(value)
	}
	return otherwise
}

// ok is the answer of the operation.
func (c *call) ok(body any) *answer { return &answer{status: c.operation.status, body: body} }

func (s *Server) serveAPI(r *http.Request) *bare.Answer {
	out := &bare.Answer{}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return out // the client is gone
	}
	s.catchUp()
	path, isAPI := strings.CutPrefix(r.URL.EscapedPath(), "/api/v4")
	o, params := find(r.Method, path)
	if o == nil || !isAPI {
		s.t.Errorf("%s %s: GitLab has no such path", r.Method, r.URL.EscapedPath())
		return notFound("").record(out)
	}
	given, err := o.given(r, bytes.TrimSpace(body))
	if err != nil {
		s.t.Errorf("%s %s: the request is not what GitLab documents: %v", r.Method, r.URL, err)
		return refuse(http.StatusBadRequest, err.Error()).record(out)
	}
	c := &call{s: s, request: r, operation: o, path: params, given: given}
	c.serve(out)
	if err := o.answers(out.Status, out.Header(), out.Body.Bytes()); err != nil {
		s.t.Errorf("%s %s: the answer is not what GitLab documents: %v", r.Method, r.URL, err)
	}
	return out
}

func (a *answer) record(out *bare.Answer) *bare.Answer {
	out.Status = a.status
	for name, value := range a.header {
		out.Header().Set(name, value)
	}
	out.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(&out.Body).Encode(a.body); err != nil {
		panic(err) // values are maps, lists and plain types
	}
	return out
}

// serve authenticates, accounts and handles a call.
func (c *call) serve(out *bare.Answer) {
	refused := c.authenticate()
	if refused == nil {
		b := c.s.budget(c.asker.user)
		if !b.spend(out.Header(), c.s.now()) {
			out.Status = http.StatusTooManyRequests
			out.Header().Set("Content-Type", "text/plain")
			_, _ = out.Write([]byte("Retry later\n"))
			return
		}
		refused = c.authorize()
	}
	if refused != nil {
		refused.record(out)
		return
	}
	c.operation.handle(c).record(out)
	if c.request.Method != http.MethodGet || out.Status != http.StatusOK {
		return
	}
	etag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(append(out.Body.Bytes(), out.Header().Get("Link")...)))
	out.Header().Set("Etag", etag)
	out.Header().Set("Cache-Control", "max-age=0, private, must-revalidate")
	if c.request.Header.Get("If-None-Match") == etag {
		out.Status = http.StatusNotModified
		out.Body.Reset()
		c.s.unchanged[c.operation.name()]++
	}
}

// page cuts the asked page out of a list.
func page[T any](c *call, all []T, to func(T) object) *answer {
	size, number := min(c.number("per_page", 20), 100), c.number("page", 1)
	last := max(1, (len(all)+size-1)/size)
	rows := []any{}
	for _, row := range all[min((number-1)*size, len(all)):min(number*size, len(all))] {
		rows = append(rows, to(row))
	}
	a := c.ok(rows)
	a.header = map[string]string{
		"X-Total": strconv.Itoa(len(all)), "X-Total-Pages": strconv.Itoa(last), "X-Per-Page": strconv.Itoa(size),
		"X-Page": strconv.Itoa(number), "X-Next-Page": "", "X-Prev-Page": "",
	}
	var links []string
	link := func(rel string, n int) {
		query := c.request.URL.Query()
		query.Set("page", strconv.Itoa(n))
		to := url.URL{RawQuery: query.Encode()}
		links = append(links, fmt.Sprintf(`<%s%s%s>; rel=%q`, c.s.URL, c.request.URL.EscapedPath(), to.String(), rel))
	}
	if number > 1 {
		a.header["X-Prev-Page"] = strconv.Itoa(number - 1)
		link("prev", number-1)
	}
	if number < last {
		a.header["X-Next-Page"] = strconv.Itoa(number + 1)
		link("next", number+1)
	}
	link("first", 1)
	link("last", last)
	a.header["Link"] = strings.Join(links, ", ")
	return a
}

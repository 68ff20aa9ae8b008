package github

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

func ok(body any) *answer      { return &answer{status: http.StatusOK, body: body} }
func created(body any) *answer { return &answer{status: http.StatusCreated, body: body} }

const docs = "https://docs.github.com/rest"

func refuse(status int, format string, args ...any) *answer {
	return &answer{status: status, body: object{
		"message": fmt.Sprintf(format, args...), "documentation_url": docs, "status": strconv.Itoa(status),
	}}
}

func notFound() *answer { return refuse(http.StatusNotFound, "Not Found") }

// invalid is a 422 that names a field, or has a message of its own where code is "custom".
func invalid(resource, field, code, message string) *answer {
	e := object{"resource": resource, "code": code}
	if field != "" {
		e["field"] = field
	}
	if message != "" {
		e["message"] = message
	}
	a := refuse(http.StatusUnprocessableEntity, "Validation Failed")
	a.body.(object)["errors"] = []any{e}
	return a
}

// call is one request of the API.
type call struct {
	view
	request *http.Request
	route   *route
	params  map[string]string
	raw     []byte
	fields  object
	repo    *repo
}

func (s *Server) serveAPI(w http.ResponseWriter, r *http.Request) {
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	if string(bytes.TrimSpace(raw)) == "null" {
		raw = nil // what clients send for no options
	}
	path, api := r.URL.EscapedPath(), s.URL
	if rest, found := strings.CutPrefix(path, "/api/v3"); found {
		path, api = rest, s.URL+"/api/v3"
	}
	rt, params := match(r, s.byID(path))
	if rt == nil || s.checker.operation(rt) == nil {
		s.t.Errorf("%s %s: GitHub has no such path", r.Method, r.URL.Path)
		s.reply(w, notFound())
		return
	}
	name := rt.method + " " + rt.path
	fault := s.begin(name)
	if fault.before(w) {
		return
	}
	if err := s.checker.request(r, rt, params, raw); err != nil {
		s.t.Errorf("%s %s: the request is not what GitHub allows: %v", r.Method, r.URL, err)
		s.reply(w, refuse(http.StatusInternalServerError, "the request is not what GitHub allows: %v", err))
		return
	}
	c := &call{view: view{s: s, api: api}, request: r, route: rt, params: params, raw: raw}
	if len(raw) > 0 {
		_ = json.Unmarshal(raw, &c.fields) // a list of labels is read from raw
	}
	out := c.serve()
	if err := s.checker.answer(r, rt, params, out.Status, out.Header(), out.Body.Bytes()); err != nil {
		s.t.Errorf("%s %s: the answer is not what GitHub describes: %v", r.Method, r.URL, err)
		s.reply(w, refuse(http.StatusInternalServerError, "the answer is not what GitHub describes: %v", err))
		return
	}
	if fault.after() {
		panic(http.ErrAbortHandler)
	}
	out.SendTo(w)
}

// byID turns the path of a repository by its id, where redirects lead, into the one by its name.
func (s *Server) byID(path string) string {
	rest, found := strings.CutPrefix(path, "/repositories/")
	if !found {
		return path
	}
	id, rest, _ := strings.Cut(rest, "/")
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.repos {
		if strconv.FormatInt(r.id, 10) == id {
			return strings.TrimSuffix("/repos/"+r.fullName()+"/"+rest, "/")
		}
	}
	return path
}

func (s *Server) reply(w http.ResponseWriter, a *answer) {
	out := &bare.Answer{}
	a.record(out)
	out.SendTo(w)
}

func (a *answer) record(out *bare.Answer) {
	out.Status = a.status
	for name, value := range a.header {
		out.Header().Set(name, value)
	}
	if a.body == nil {
		return
	}
	out.Header().Set("Content-Type", "application/json; charset=utf-8")
	if err := json.NewEncoder(&out.Body).Encode(a.body); err != nil {
		panic(err) // values are maps, lists and plain types
	}
}

// serve authenticates, accounts and handles a call under the server's mutex.
func (c *call) serve() *bare.Answer {
	s := c.s
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &bare.Answer{}
	out.Header().Set("X-GitHub-Request-Id", strconv.FormatInt(s.newID(), 16))
	who, refused := s.authenticate(c.request)
	c.asker = who
	b := s.budget(who)
	defer func() { b.headers(out.Header()) }()
	if who != nil && who.token != nil && who.token.kind == classic {
		out.Header().Set("X-OAuth-Scopes", strings.Join(who.token.scopes, ", "))
		out.Header().Set("X-Accepted-OAuth-Scopes", "repo")
	}
	if refused == nil {
		refused = b.admit(c, s)
	}
	if refused == nil {
		refused = c.authorize()
	}
	if refused != nil {
		refused.record(out)
		b.spend()
		return out
	}
	c.route.handle(c).record(out)
	if c.request.Method == http.MethodGet && out.Status == http.StatusOK {
		etag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(append(out.Body.Bytes(), out.Header().Get("Link")...)))
		out.Header().Set("ETag", etag)
		out.Header().Set("Cache-Control", "private, max-age=60, s-maxage=60")
		if c.request.Header.Get("If-None-Match") == etag {
			out.Status = http.StatusNotModified
			out.Body.Reset()
			out.Header().Del("Content-Type")
			s.unchanged[c.route.method+" "+c.route.path]++
			if who.authorized() {
				return out
			}
		}
	}
	b.spend()
	return out
}

func (c *call) has(name string) bool {
	_, found := c.fields[name]
	return found
}

func (c *call) text(name string) string {
	text, _ := c.fields[name].(string)
	return text
}

func (c *call) flag(name string, otherwise bool) bool {
	if value, isBool := c.fields[name].(bool); isBool {
		return value
	}
	return otherwise
}

func (c *call) query(name, otherwise string) string {
	if value := c.request.URL.Query().Get(name); value != "" {
		return value
	}
	return otherwise
}

// page cuts the asked page out of a list and links the others.
func (c *call) page(all []any) *answer {
	size, err := strconv.Atoi(c.query("per_page", "30"))
	if err != nil || size < 1 {
		size = 30
	}
	size = min(size, 100)
	page, err := strconv.Atoi(c.query("page", "1"))
	if err != nil || page < 1 {
		page = 1
	}
	last := max(1, (len(all)+size-1)/size)
	items := []any{}
	if from := (page - 1) * size; from < len(all) {
		items = all[from:min(from+size, len(all))]
	}
	var links []string
	link := func(rel string, n int) {
		values := c.request.URL.Query()
		values.Set("page", strconv.Itoa(n))
		to := url.URL{RawQuery: values.Encode()}
		links = append(links, fmt.Sprintf(`<%s%s%s>; rel=%q`, c.s.URL, c.request.URL.EscapedPath(), to.String(), rel))
	}
	if page > 1 {
		link("prev", page-1)
	}
	if page < last {
		link("next", page+1)
		link("last", last)
	}
	if page > 1 {
		link("first", 1)
	}
	a := ok(any(items))
	if len(links) > 0 {
		a.header = map[string]string{"Link": strings.Join(links, ", ")}
	}
	return a
}

// listOf makes the list of an answer.
func listOf[T any](from []T, to func(T) object) []any {
	out := make([]any, 0, len(from))
	for _, value := range from {
		out = append(out, to(value))
	}
	return out
}

func or(text, otherwise string) string {
	if strings.TrimSpace(text) == "" {
		return otherwise
	}
	return text
}

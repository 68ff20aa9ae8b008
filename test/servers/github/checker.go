package github

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

//go:embed testdata/github-openapi.json
var description []byte

// checker checks requests and answers against GitHub's description of its API.
type checker struct {
	doc     *openapi3.T
	options *openapi3filter.Options
}

// newChecker loads the description once for all servers of a process.
var newChecker = sync.OnceValues(func() (*checker, error) {
	doc, err := openapi3.NewLoader().LoadFromData(description)
	if err != nil {
		return nil, err
	}
	const labels = "/repos/{owner}/{repo}/issues/{issue_number}/labels"
	body := doc.Paths.Value(labels).Post.RequestBody.Value.Content["application/json"]
	list := openapi3.NewArraySchema().WithItems(openapi3.NewStringSchema())
	body.Schema = openapi3.NewSchemaRef("", &openapi3.Schema{AnyOf: openapi3.SchemaRefs{
		body.Schema, openapi3.NewSchemaRef("", list)}})
	return &checker{doc: doc, options: &openapi3filter.Options{
		IncludeResponseStatus: true, MultiError: true, SkipSettingDefaults: true,
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
	}}, nil
})

func (c *checker) operation(rt *route) *openapi3.Operation {
	item := c.doc.Paths.Value(rt.path)
	if item == nil {
		return nil
	}
	return item.GetOperation(rt.method)
}

func (c *checker) input(r *http.Request, rt *route, params map[string]string) *openapi3filter.RequestValidationInput {
	return &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Options: c.options,
		Route: &routers.Route{
			Spec: c.doc, Path: rt.path, PathItem: c.doc.Paths.Value(rt.path),
			Method: rt.method, Operation: c.operation(rt),
		},
	}
}

// request reports what the description does not allow in a request. Unlike GitHub it refuses
// parameters and fields that it does not know, because they are mistakes.
func (c *checker) request(r *http.Request, rt *route, params map[string]string, body []byte) error {
	copied := r.Clone(r.Context())
	copied.Body = io.NopCloser(bytes.NewReader(body))
	copied.ContentLength = int64(len(body))
	if err := openapi3filter.ValidateRequest(r.Context(), c.input(copied, rt, params)); err != nil {
		return err
	}
	op, item := c.operation(rt), c.doc.Paths.Value(rt.path)
	for name := range r.URL.Query() {
		known := func(p *openapi3.ParameterRef) bool { return p.Value.In == "query" && p.Value.Name == name }
		if !slices.ContainsFunc(op.Parameters, known) && !slices.ContainsFunc(item.Parameters, known) {
			return fmt.Errorf("unknown query parameter %q", name)
		}
	}
	return unknownFields(op, body)
}

func unknownFields(op *openapi3.Operation, body []byte) error {
	var fields object
	if len(body) == 0 || json.Unmarshal(body, &fields) != nil {
		return nil // not an object: the schema decides
	}
	if op.RequestBody == nil {
		if len(fields) > 0 {
			return fmt.Errorf("a body where none is described: %s", body)
		}
		return nil
	}
	schema := op.RequestBody.Value.Content["application/json"].Schema.Value
	for name := range fields {
		if len(schema.Properties) > 0 && schema.Properties[name] == nil {
			return fmt.Errorf("unknown field %q", name)
		}
	}
	return nil
}

// answer reports where an answer violates the description. Errors that an operation does not list
// have the format that all errors share.
func (c *checker) answer(r *http.Request, rt *route, params map[string]string, status int, header http.Header, body []byte) error {
	op := c.operation(rt)
	if op.Responses.Status(status) == nil {
		return c.undescribed(status, body)
	}
	if op.Responses.Status(status).Value.Content == nil {
		if len(body) > 0 && status < 400 {
			return fmt.Errorf("answer %d has a body", status)
		}
		return nil
	}
	in := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: c.input(r, rt, params), Status: status, Header: header, Options: c.options,
	}
	return openapi3filter.ValidateResponse(context.Background(), in.SetBodyBytes(body))
}

func (c *checker) undescribed(status int, body []byte) error {
	if status == http.StatusNotModified && len(body) == 0 {
		return nil
	}
	if status < 400 && status != http.StatusMovedPermanently && status != http.StatusTemporaryRedirect {
		return fmt.Errorf("status %d is not described", status)
	}
	var value any
	if err := json.Unmarshal(body, &value); err != nil {
		return fmt.Errorf("answer %d is not JSON: %w", status, err)
	}
	return c.doc.Components.Schemas["basic-error"].Value.VisitJSON(value)
}

// unescape is the text of an escaped path segment.
func unescape(segment string) string {
	text, err := url.PathUnescape(segment)
	if err != nil {
		return segment
	}
	return text
}

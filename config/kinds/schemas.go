package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// definition is the schema of a type, as some releases have it.
type definition struct {
	Name   string         `json:"name"`
	First  int            `json:"first"`
	Last   int            `json:"last"`
	Kinds  []groupVersion `json:"kinds,omitempty"`
	Schema map[string]any `json:"schema"`
}

type groupVersion struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// schemas has the definitions of all releases, by name in the order of releases.
type schemas map[string][]definition

// kept are the parts of a schema that say what an API server accepts; all others are for people, or
// for tools.
var kept = []string{
	"$ref", "type", "properties", "required", "items", "additionalProperties", "enum", "x-kubernetes-list-type",
	"x-kubernetes-list-map-keys", "x-kubernetes-map-type", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string",
}

// add takes in the definitions of a release.
func (s schemas) add(minor int, document []byte) error {
	var doc struct {
		Definitions map[string]struct {
			Kinds []groupVersion `json:"x-kubernetes-group-version-kind"`
		} `json:"definitions"`
	}
	var whole struct {
		Definitions map[string]map[string]any `json:"definitions"`
	}
	if err := json.Unmarshal(document, &doc); err != nil {
		return err
	}
	if err := json.Unmarshal(document, &whole); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(whole.Definitions)) {
		d := definition{Name: name, First: minor, Last: minor, Kinds: doc.Definitions[name].Kinds, Schema: reduced(whole.Definitions[name])}
		all := s[name]
		if n := len(all) - 1; n >= 0 && all[n].Last == minor-1 && reflect.DeepEqual(all[n].Schema, d.Schema) && reflect.DeepEqual(all[n].Kinds, d.Kinds) {
			all[n].Last = minor
			continue
		}
		s[name] = append(all, d)
	}
	return nil
}

// reduced returns what of a schema is kept.
func reduced(schema map[string]any) map[string]any {
	out := map[string]any{}
	for key, value := range schema {
		if !slices.Contains(kept, key) {
			continue
		}
		switch sub := value.(type) {
		case map[string]any:
			if key != "properties" {
				value = reduced(sub)
				break
			}
			fields := map[string]any{}
			for name, field := range sub {
				if field, ok := field.(map[string]any); ok {
					fields[name] = reduced(field)
				}
			}
			value = fields
		case string:
			if key == "$ref" {
				value = strings.TrimPrefix(sub, "#/definitions/")
			}
		}
		out[key] = value
	}
	return out
}

// write returns the definitions as compressed JSON, the same bytes for the same ones.
func (s schemas) write() ([]byte, error) {
	var all []definition
	for _, name := range slices.Sorted(maps.Keys(s)) {
		all = append(all, s[name]...)
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(data); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

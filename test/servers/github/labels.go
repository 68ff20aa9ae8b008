package github

import (
	"encoding/json"
	"slices"
	"strings"
)

// label is the label of a repository with a name in any case. Its first use makes it.
func (s *Server) label(r *repo, name string) string {
	for known := range r.labels {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	r.labels[name] = s.newID()
	return name
}

// setLabels sets the labels of a pull request as a whole.
func (s *Server) setLabels(p *pull, names []string, by *user) {
	var wanted []string
	for _, name := range names {
		if l := s.label(p.repo, name); !slices.Contains(wanted, l) {
			wanted = append(wanted, l)
		}
	}
	for _, l := range p.labels {
		if !slices.Contains(wanted, l) {
			s.record(p, "unlabeled", by, object{"label": object{"name": l, "color": "ededed"}})
		}
	}
	for _, l := range wanted {
		if !slices.Contains(p.labels, l) {
			s.record(p, "labeled", by, object{"label": object{"name": l, "color": "ededed"}})
		}
	}
	p.labels = wanted
}

// labelNames are those of a body {"labels": […]} or of a plain list.
func (c *call) labelNames() []string {
	var list []any
	if json.Unmarshal(c.raw, &list) != nil {
		list, _ = c.fields["labels"].([]any)
	}
	var out []string
	for _, value := range list {
		switch value := value.(type) {
		case string:
			out = append(out, value)
		case object:
			name, _ := value["name"].(string)
			out = append(out, name)
		}
	}
	return out
}

func (c *call) addLabels() *answer {
	p := c.pullOf()
	if p == nil {
		return notFound()
	}
	c.s.setLabels(p, append(slices.Clone(p.labels), c.labelNames()...), c.asker.user)
	return ok(any(c.labels(p)))
}

func (c *call) removeLabel() *answer {
	p := c.pullOf()
	if p == nil || !slices.Contains(p.labels, c.params["name"]) {
		return notFound()
	}
	c.s.setLabels(p, slices.DeleteFunc(slices.Clone(p.labels), func(l string) bool { return l == c.params["name"] }), c.asker.user)
	return ok(any(c.labels(p)))
}

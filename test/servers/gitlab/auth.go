package gitlab

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// authenticate finds the token of a call. GitLab checks its scopes before anything else.
func (c *call) authenticate() *answer {
	value := c.request.Header.Get("Private-Token")
	bearer, isBearer := strings.CutPrefix(c.request.Header.Get("Authorization"), "Bearer ")
	if isBearer {
		value = bearer
	}
	t := c.s.tokens[value]
	invalid := func(why string) *answer {
		return &answer{status: http.StatusUnauthorized, body: object{"error": "invalid_token", "error_description": why}}
	}
	switch {
	case t == nil, t.oauth && !isBearer:
		return refuse(http.StatusUnauthorized, "401 Unauthorized")
	case t.revoked:
		return invalid("Token was revoked. You have to re-authorize from the user.")
	case !t.expires.IsZero() && !c.s.now().Before(t.expires):
		return invalid("Token is expired. You can either do re-authorization or token refresh.")
	}
	c.asker = t
	need := []string{"api"}
	if c.request.Method == http.MethodGet {
		need = append(need, "read_api")
	}
	if !c.operation.anyScope && !t.has(need...) {
		return &answer{status: http.StatusForbidden, body: object{
			"error": "insufficient_scope", "error_description": "The request requires higher privileges than provided by the access token.", "scope": strings.Join(need, " "),
		}}
	}
	return nil
}

// role is what the token may do in a project.
func (t *token) role(p *project) Role {
	switch {
	case t == nil:
		return p.roleOf(nil)
	case t.project != nil && t.project != p:
		return p.roleOf(nil)
	}
	return p.roleOf(t.user)
}

// authorize finds the project of a call and refuses what its caller may not do.
func (c *call) authorize() *answer {
	if !strings.HasPrefix(c.operation.path, projectPath) {
		return nil
	}
	p, moved := c.s.findProject(c.path["id"])
	if p == nil || c.asker.role(p) == None {
		return notFound("Project")
	}
	read := c.request.Method == http.MethodGet
	requests := strings.HasPrefix(c.operation.path, listPath)
	switch {
	case moved && !read:
		return refuse(http.StatusMethodNotAllowed, "405 Non GET methods are not allowed for moved projects")
	case moved:
		return c.redirect(p)
	case p.Archived && !read, c.asker.role(p) < c.operation.role, requests && p.RequestsDisabled:
		return forbidden()
	}
	c.project = p
	return nil
}

// redirect leads to the same by the project's id.
func (c *call) redirect(p *project) *answer {
	old := "/api/v4/projects/"
	_, rest, _ := strings.Cut(strings.TrimPrefix(c.request.URL.EscapedPath(), old), "/")
	to := strings.TrimSuffix(fmt.Sprintf("%s%s%d/%s", c.s.URL, old, p.id, rest), "/")
	if query := c.request.URL.RawQuery; query != "" {
		to += "?" + query
	}
	return &answer{status: http.StatusMovedPermanently, body: "This resource has been moved permanently to " + to + ".", header: map[string]string{"Location": to}}
}

// budget is what one user may ask in a minute.
type budget struct {
	limit, used int
	reset       time.Time
}

// LimitRate sets how many requests a minute every user has, from now on.
func (s *Server) LimitRate(perMinute int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.perMinute = perMinute
	clear(s.rates)
}

func (s *Server) budget(u *user) *budget {
	b := s.rates[u]
	if b == nil || !s.now().Before(b.reset) {
		b = &budget{limit: s.perMinute, reset: s.now().Add(time.Minute)}
		s.rates[u] = b
	}
	return b
}

// spend reports whether one more request is allowed.
func (b *budget) spend(h http.Header, now time.Time) bool {
	b.used++
	h.Set("RateLimit-Name", "throttle_authenticated_api")
	h.Set("RateLimit-Limit", strconv.Itoa(b.limit))
	h.Set("RateLimit-Observed", strconv.Itoa(b.used))
	h.Set("RateLimit-Remaining", strconv.Itoa(max(0, b.limit-b.used)))
	h.Set("RateLimit-Reset", strconv.FormatInt(b.reset.Unix(), 10))
	h.Set("RateLimit-ResetTime", b.reset.Format(http.TimeFormat))
	if b.used <= b.limit {
		return true
	}
	h.Set("Retry-After", strconv.Itoa(int(b.reset.Sub(now).Seconds())+1))
	return false
}

// getToken shows the token of the call, unless it is one of OAuth.
func (c *call) getSigningKey() *answer {
	if c.s.signingKey == "" {
		return notFound("")
	}
	return c.ok(object{"public_key": c.s.signingKey})
}

func (c *call) getToken() *answer {
	t := c.asker
	if t.oauth {
		return refuse(http.StatusBadRequest, "400 Bad request - This endpoint requires token type to be a personal access token")
	}
	return c.ok(object{
		"id": t.user.id, "name": "token", "revoked": false, "created_at": stamp(c.s.now()), "description": nil, "scopes": t.scopes, "user_id": t.user.id,
		"last_used_at": nil, "active": true, "expires_at": nil,
	})
}

// getMember shows the role of a member, also by an invited group.
func (c *call) getMember() *answer {
	for _, roles := range []map[*user]Role{c.project.invited, c.project.roles} {
		for u, role := range roles {
			if strconv.FormatInt(u.id, 10) != c.path["user_id"] {
				continue
			}
			out := c.s.userFields(u).(object)
			out["access_level"], out["created_at"], out["expires_at"] = max(role, c.project.roles[u]), stamp(c.s.now()), nil
			return c.ok(out)
		}
	}
	return notFound("")
}

package github

import (
	"net/http"
	"strconv"
	"time"
)

// budget is what one caller may ask in an hour, and create in a minute.
type budget struct {
	limit, used int
	reset       time.Time
	content     []time.Time
	perMinute   int
}

// LimitRate sets how many requests an hour every caller has, from now on.
func (s *Server) LimitRate(perHour int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = perHour
	clear(s.rates)
}

// LimitContent sets how many pull requests, comments and merges a caller may create in a minute
// before the secondary limit refuses more: 80 at the start.
func (s *Server) LimitContent(perMinute int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.contentPerMinute = perMinute
	clear(s.rates)
}

func (s *Server) budget(who *caller) *budget {
	key := ""
	switch {
	case who == nil:
	case who.app != nil:
		key = "app " + who.app.slug
	case who.token.installation != nil:
		key = "installation " + strconv.FormatInt(who.token.installation.id, 10)
	default:
		key = who.user.login
	}
	now := s.now()
	b := s.rates[key]
	if b == nil {
		b = &budget{}
		s.rates[key] = b
	}
	if !now.Before(b.reset) {
		b.used, b.reset = 0, now.Add(time.Hour)
	}
	b.limit, b.perMinute = s.limit, s.contentPerMinute
	if who == nil {
		b.limit = min(60, s.limit)
	}
	return b
}

// admit refuses a call that the primary or the secondary limit does not allow.
func (b *budget) admit(c *call, s *Server) *answer {
	if b.used >= b.limit {
		return refuse(http.StatusForbidden, "API rate limit exceeded for user %s.", c.asker.login())
	}
	if !c.route.need.content {
		return nil
	}
	now := s.now()
	for len(b.content) > 0 && !now.Before(b.content[0].Add(time.Minute)) {
		b.content = b.content[1:]
	}
	if len(b.content) >= b.perMinute {
		a := refuse(http.StatusForbidden, "You have exceeded a secondary rate limit and have been temporarily blocked from content creation. Please retry your request again later.")
		a.body.(object)["documentation_url"] = "https://docs.github.com/rest/overview/rate-limits-for-the-rest-api#about-secondary-rate-limits"
		wait := time.Minute
		if len(b.content) > 0 {
			wait = b.content[0].Add(time.Minute).Sub(now)
		}
		a.header = map[string]string{"Retry-After": strconv.Itoa(int(wait.Seconds()))}
		return a
	}
	b.content = append(b.content, now)
	return nil
}

func (b *budget) spend() { b.used = min(b.used+1, b.limit) }

func (b *budget) headers(h http.Header) {
	h.Set("X-RateLimit-Limit", strconv.Itoa(b.limit))
	h.Set("X-RateLimit-Remaining", strconv.Itoa(b.limit-b.used))
	h.Set("X-RateLimit-Used", strconv.Itoa(b.used))
	h.Set("X-RateLimit-Reset", strconv.FormatInt(b.reset.Unix(), 10))
	h.Set("X-RateLimit-Resource", "core")
}

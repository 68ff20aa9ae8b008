package rest

import (
	"crypto/sha256"
	"net/http"
	"strings"
	"sync"

	"github.com/golang/groupcache/lru"
)

const (
	// maxCached bounds the bytes of the answers that a client keeps, and maxCachedBody one body.
	maxCached     = 16 << 20
	maxCachedBody = maxCached / 4
	// headerSize is what the headers of an answer count for.
	headerSize = 2 << 10
)

// cache keeps the answers that a server gives an ETag, because asking whether one has changed costs
// little, and on GitHub nothing of the budget. Answers are kept by what may change them: the URL,
// the format, and the credentials. The least recently used ones are removed, and all of them when
// the credentials change, as those of a GitHub App do every hour.
type cache struct {
	mu    sync.Mutex
	lru   *lru.Cache
	bytes int
	// credentials are a digest of those of the answers.
	credentials string
}

// find returns the key of a request, and what is kept under it. Without a key nothing may be kept.
func (c *cache) find(r *http.Request) (key string, kept *answer) {
	if r.Method != http.MethodGet || r.Header.Get("If-None-Match") != "" || r.Header.Get("Range") != "" {
		return "", nil
	}
	h := sha256.New()
	for _, part := range []string{r.URL.String(), r.Header.Get("Accept"), r.Header.Get("Authorization"), r.Header.Get(privateToken)} {
		_, _ = h.Write([]byte(part + "\n"))
	}
	key = string(h.Sum(nil))
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := digest(r.Header.Get("Authorization"), r.Header.Get(privateToken)); now != c.credentials {
		c.lru, c.bytes, c.credentials = nil, 0, now
	}
	if c.lru == nil {
		return key, nil
	}
	if value, ok := c.lru.Get(key); ok {
		kept, _ = value.(*answer)
	}
	return key, kept
}

// keep keeps an answer, if the server can be asked whether it has changed.
func (c *cache) keep(key string, got *answer) {
	if got.header.Get("Etag") == "" || len(got.body) > maxCachedBody || strings.Contains(got.header.Get("Cache-Control"), "no-store") {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lru == nil {
		c.lru = lru.New(0)
		c.lru.OnEvicted = func(_ lru.Key, value any) { c.bytes -= value.(*answer).size() }
	}
	c.lru.Remove(key)
	c.lru.Add(key, got)
	for c.bytes += got.size(); c.bytes > maxCached; {
		c.lru.RemoveOldest()
	}
}

func (a *answer) size() int { return headerSize + len(a.body) }

// renewed returns a kept answer with the headers of a newer one (RFC 9111, section 3.2).
func (a *answer) renewed(header http.Header) *answer {
	out := &answer{a.status, a.header.Clone(), a.body}
	for name, values := range header {
		if name != "Content-Length" && name != "Content-Encoding" && name != "Content-Type" {
			out.header[name] = values
		}
	}
	return out
}

package main

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

// screen prints the demo's output. It may be used by several goroutines at once;
// lines stay whole.
type screen struct {
	mu    sync.Mutex
	out   io.Writer
	began time.Time
}

func newScreen(out io.Writer) *screen {
	return &screen{out: out, began: time.Now()}
}

// restart lets the times that are shown begin anew.
func (s *screen) restart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began = time.Now()
}

// elapsed returns the time since the start.
func (s *screen) elapsed() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.began)
}

// show shows text as it is.
func (s *screen) show(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.out, format, args...)
}

// say shows a line in the columns of furrow run: who, with what, did what, and more.
func (s *screen) say(who, what, did, format string, args ...any) {
	s.show("%7.1fs  %-10s %-16s %-12s %s\n", s.elapsed().Seconds(), who, what, did, fmt.Sprintf(format, args...))
}

// lines returns a writer that shows whole lines only. One goroutine may write to it.
func (s *screen) lines() io.Writer {
	return &lineWriter{screen: s}
}

type lineWriter struct {
	screen *screen
	rest   []byte
}

// Write implements io.Writer.
func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	if end := bytes.LastIndexByte(w.rest, '\n'); end >= 0 {
		w.screen.show("%s", w.rest[:end+1])
		w.rest = append([]byte(nil), w.rest[end+1:]...)
	}
	return len(p), nil
}

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync"

	tlog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/log/tag"
)

// fault is the first unrecoverable failure of a server.
type fault struct {
	once sync.Once
	done chan struct{}
	err  error
}

func newFault() *fault { return &fault{done: make(chan struct{})} }

func (f *fault) set(err error) {
	f.once.Do(func() {
		f.err = err
		close(f.done)
	})
}

// get returns the failure, or nil when there was none so far.
func (f *fault) get() error {
	select {
	case <-f.done:
		return f.err
	default:
		return nil
	}
}

// logAdapter sends the server's logs to a slog.Logger.
type logAdapter struct {
	log   *slog.Logger
	fault *fault
}

var (
	_ tlog.Logger      = logAdapter{}
	_ tlog.WithLogger  = logAdapter{}
	_ tlog.SLogWrapper = logAdapter{}
)

func (a logAdapter) Debug(msg string, tags ...tag.Tag)  { a.write(slog.LevelDebug, msg, tags) }
func (a logAdapter) Info(msg string, tags ...tag.Tag)   { a.write(slog.LevelInfo, msg, tags) }
func (a logAdapter) Warn(msg string, tags ...tag.Tag)   { a.write(slog.LevelWarn, msg, tags) }
func (a logAdapter) Error(msg string, tags ...tag.Tag)  { a.write(slog.LevelError, msg, tags) }
func (a logAdapter) DPanic(msg string, tags ...tag.Tag) { a.write(slog.LevelError, msg, tags) }

// Panic logs and panics, as the interface demands; the server recovers where it
// uses it.
func (a logAdapter) Panic(msg string, tags ...tag.Tag) {
	a.write(slog.LevelError, msg, tags)
	panic(msg)
}

// Fatal records the failure and ends the calling goroutine instead of the
// process: whoever owns the server learns of it from Failed and can stop what
// runs, remove its files and say what happened. It does not return, which is
// all the server counts on.
func (a logAdapter) Fatal(msg string, tags ...tag.Tag) {
	a.write(slog.LevelError, msg, tags)
	cause := errors.New(msg)
	for _, t := range tags {
		if t.Key() == "error" {
			cause = fmt.Errorf("%s: %v", msg, t.Value())
		}
	}
	a.fault.set(cause)
	runtime.Goexit()
}

// With implements log.WithLogger, so that tags are converted once and not with
// every line.
func (a logAdapter) With(tags ...tag.Tag) tlog.Logger {
	return logAdapter{log: slog.New(a.log.Handler().WithAttrs(attrs(tags))), fault: a.fault}
}

// SLog implements log.SLogWrapper: the server's own SDK clients log through it.
func (a logAdapter) SLog() *slog.Logger { return a.log }

func (a logAdapter) write(level slog.Level, msg string, tags []tag.Tag) {
	ctx := context.Background()
	if !a.log.Enabled(ctx, level) {
		return
	}
	a.log.LogAttrs(ctx, level, msg, attrs(tags)...)
}

func attrs(tags []tag.Tag) []slog.Attr {
	out := make([]slog.Attr, len(tags))
	for i, t := range tags {
		out[i] = slog.Any(t.Key(), t.Value())
	}
	return out
}

package sqlite

import (
	"context"
	"sync/atomic"
	"time"
)

// watch stops the statement that runs on a connection when its context is over. It is registered with a context for as long as the connection is
// used with that one, so that it costs nothing in a loop of operations.
type watch struct {
	on      *connection
	busy    atomic.Bool     // a statement may be running
	watched <-chan struct{} // Done of the context that is watched
	stop    func() bool
	ran     chan struct{} // closed when the context was over and all was done for it
}

// begin is called before statements run that may take long.
func (w *watch) begin(ctx context.Context) error {
	if done := ctx.Done(); done != w.watched {
		w.end()
		if w.watched = done; done != nil {
			ran := make(chan struct{})
			w.ran = ran
			w.stop = context.AfterFunc(ctx, func() {
				// An interrupt before the statement runs is lost, so there is another until it has ended.
				for w.busy.Load() {
					w.on.interrupt()
					time.Sleep(time.Millisecond)
				}
				close(ran)
			})
		}
	}
	w.busy.Store(true)
	if err := ctx.Err(); err != nil {
		w.busy.Store(false)
		return err
	}
	return nil
}

// rest is called after the statements of begin. It returns the context's error in the place of the one that comes of being interrupted.
func (w *watch) rest(ctx context.Context, err error) error {
	w.busy.Store(false)
	if err != nil && ctx.Err() != nil && interrupted(err) {
		return ctx.Err()
	}
	return err
}

// end ends the watch, before the connection is closed or used with another context.
func (w *watch) end() {
	if w.stop != nil && !w.stop() {
		<-w.ran
	}
	w.watched, w.stop, w.ran = nil, nil, nil
}

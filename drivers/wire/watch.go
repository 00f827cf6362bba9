package wire

import "context"

// watch is one registration of a seat's interrupt with a context.
type watch struct {
	ran chan struct{} // closed when the interrupt has run
}

// guard makes sure that the seat's interrupt runs when ctx is over. A registration lasts until the seat is used with another context, so that it costs
// nothing in a loop that uses one. It returns whether an interrupt of an earlier context has run meanwhile, perhaps between two
// operations: then its effect is to be undone.
func (s *Seat) guard(ctx context.Context) (ran bool) {
	done := ctx.Done()
	if done == s.watched {
		return false
	}
	ran = s.unguard()
	if done == nil {
		return ran
	}
	w := &watch{ran: make(chan struct{})}
	s.watched, s.watch = done, w
	s.likes.Store(identity(ctx))
	s.stop = context.AfterFunc(ctx, func() {
		s.interrupt()
		close(w.ran)
	})
	return ran
}

// unguard ends the watch. It returns whether the interrupt has run, which it then has done to the end.
func (s *Seat) unguard() (ran bool) {
	if s.stop != nil && !s.stop() {
		<-s.watch.ran
		ran = true
	}
	s.watched, s.stop, s.watch = nil, nil, nil
	s.likes.Store(0)
	return ran
}

package load

import "context"

// Announcer is a Worker that prepares for the check of an answer: a scan keeps its rows only when somebody will look at them. Such a worker
// makes one operation ready at a time.
type Announcer interface {
	Worker
	// Announce says, off the clock and after Ready, whether the answer of the next operation, in that slot, is to be checked if it succeeds.
	// The worker tells whether it will: one that cannot, because the answer is too large to keep, is not asked to and the answer is
	// not counted as checked.
	Announce(slot int, check bool) (will bool)
}

// Sorter is a Worker whose operations are of several kinds, each of which gets a histogram of its own beside the leg's.
type Sorter interface {
	Worker
	// Kind returns the kind of the operation in slot, as its place in Leg.Kinds. It is asked after Do and must be quick.
	Kind(slot int) int
}

// Counter is a Worker that keeps figures of its own beside the leg's, such as the rows that came.
type Counter interface {
	Worker
	// Count is told that the operation just done in slot counts in Result.OK: it has succeeded, its check included, and is not of the warm-up.
	// It must be quick.
	Count(slot int)
}

// Follower is a Worker some of whose operations are followed by others that are timed apart: the writes of a leg that scans. They are in
// none of the leg's figures but Result.Followed and the error budget. Such a worker makes one operation ready at a time.
type Follower interface {
	Worker
	// Following returns how many operations follow the one in slot. It is asked when that one has ended well, and makes ready what
	// they need, off the clock.
	Following(slot int) (n int, err error)
	// Follow runs the i-th of them. When it fails those after it are not run.
	Follow(ctx context.Context, slot, i int) error
	// Followed ends them, off the clock: done of them succeeded.
	Followed(slot, done int)
}

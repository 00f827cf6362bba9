package load

// bufferSize is how many durations a worker keeps before it gives them away. It makes a worker's memory 1 KB, where a histogram of its
// own would grow to 20 KB and more, 6,144 times; and one lock per 128 operations costs less than a quarter of a nanosecond each.
const bufferSize = 128

// recorder is a worker's private record: the durations of its last operations, all ended in the same second. Nothing in it is shared;
// flush gives it to the leg's intervals, between two operations.
type recorder struct {
	shard           *shard
	second          second
	n               int
	failed, checked int64
	service         [bufferSize]int64 // nanoseconds
	response        []int64           // nanoseconds, as long as service; nil in the closed loop
	kinds           []uint8           // as long as service; nil without kinds

	lateness, wakes []int64 // nanoseconds, each as long as it is; nil in the closed loop
}

// late records how long after its intended start an operation was started; waited tells that its worker had been waiting for it.
func (r *recorder) late(ns int64, waited bool) {
	if len(r.lateness) == bufferSize {
		r.flush()
	}
	r.lateness = append(r.lateness, ns)
	if waited {
		r.wakes = append(r.wakes, ns)
	}
}

// add records an operation that succeeded and tells whether the buffer is full, which is to be flushed before the next add. A duration
// below the clock's tick, which would read as 0, is one nanosecond.
func (r *recorder) add(ns int64) (full bool) {
	r.service[r.n] = max(ns, 1)
	r.n++
	return r.n == bufferSize
}

// at says in which second the following operations end, and flushes if it is another one.
func (r *recorder) at(second second) {
	if second != r.second {
		r.flush()
		r.second = second
	}
}

// flush empties the recorder into the leg's intervals. It takes a lock, so it must be off the clock.
func (r *recorder) flush() {
	if r.n == 0 && r.failed == 0 && r.checked == 0 && len(r.lateness) == 0 {
		return
	}
	e := entry{second: r.second, service: r.service[:r.n], lateness: r.lateness, wakes: r.wakes, failed: r.failed, checked: r.checked}
	if r.response != nil {
		e.response = r.response[:r.n]
	}
	if r.kinds != nil {
		e.kinds = r.kinds[:r.n]
	}
	r.shard.add(e)
	r.n, r.failed, r.checked = 0, 0, 0
	r.lateness, r.wakes = r.lateness[:0], r.wakes[:0]
}

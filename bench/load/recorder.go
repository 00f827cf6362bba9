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
	if r.n == 0 && r.failed == 0 && r.checked == 0 {
		return
	}
	var response []int64
	if r.response != nil {
		response = r.response[:r.n]
	}
	r.shard.add(r.second, r.service[:r.n], response, r.failed, r.checked)
	r.n, r.failed, r.checked = 0, 0, 0
}

package host

import (
	"errors"
	"fmt"
)

// errNoMemory is the error of a process that has no memory any more, or never had any: a zombie or a kernel thread.
var errNoMemory = errors.New("process has no memory")

// proportional returns the sum of the proportional set sizes of processes, in bytes: memory that n processes share counts 1/n in each,
// so the sum is what they hold together.
func (p *procFS) proportional(pids []int) (int64, error) {
	if p.noPSS != nil {
		return 0, p.noPSS
	}
	var sum int64
	for _, pid := range pids {
		pss, err := p.pss(pid)
		switch {
		case errors.Is(err, errGone), errors.Is(err, errNoMemory):
		case err != nil:
			return 0, fmt.Errorf("process %d: %w", pid, err)
		default:
			sum += pss
		}
	}
	return sum, nil
}

func (p *procFS) pss(pid int) (int64, error) {
	text, err := p.read(pid, "smaps_rollup")
	if err != nil {
		return 0, err
	}
	kib, ok := value(text, "Pss:")
	if !ok {
		return 0, errNoMemory
	}
	return kib << 10, nil
}

// residentOf returns an estimate of what processes hold together where proportional sizes cannot be read, in bytes: their private
// anonymous memory, and of files and shared memory as much as the one with the most of them has. It is too high by what processes still
// share since a fork and too low when they map different files; a plain sum of resident sizes would count the shared buffers of a
// database once per connection.
func (p *procFS) residentOf(pids []int) (int64, error) {
	var private, shared int64
	for _, pid := range pids {
		mine, may, err := p.resident(pid)
		switch {
		case errors.Is(err, errGone), errors.Is(err, errNoMemory):
		case err != nil:
			return 0, fmt.Errorf("process %d: %w", pid, err)
		default:
			private += mine
			shared = max(shared, may)
		}
	}
	return private + shared, nil
}

// resident returns the resident memory of a process in bytes: its anonymous memory, and files and shared memory.
func (p *procFS) resident(pid int) (private, shared int64, err error) {
	text, err := p.read(pid, "status")
	if err != nil {
		return 0, 0, err
	}
	if _, ok := value(text, "VmRSS:"); !ok {
		return 0, 0, errNoMemory
	}
	anonymous, ok := value(text, "RssAnon:")
	file, ok2 := value(text, "RssFile:")
	shm, ok3 := value(text, "RssShmem:")
	if !ok || !ok2 || !ok3 {
		return 0, 0, errors.New("no RssAnon in its status, which needs Linux 4.5")
	}
	return anonymous << 10, (file + shm) << 10, nil
}

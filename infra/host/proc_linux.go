package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// ticksPerSecond is USER_HZ: in what the kernel tells times to programs on every architecture that Go runs on.
const ticksPerSecond = 100

// procFS reads /proc. It reads the files of processes itself and not through prometheus/procfs, which takes half as long again and
// leaves garbage behind (BenchmarkStatus): it does so four times a second for every process of a tree, in the agent, while that measures.
type procFS struct {
	buffer []byte // reused, so that one procFS serves one goroutine
	parts  [][]byte
	listed bool  // the kernel lists children; else all processes are looked through
	noPSS  error // why the kernel does not sum up proportional set sizes
}

func newProcFS() *procFS {
	p := &procFS{buffer: make([]byte, 0, 16<<10)}
	_, err := p.read(os.Getpid(), "task/"+strconv.Itoa(os.Getpid())+"/children")
	p.listed = err == nil
	if _, err := p.read(os.Getpid(), "smaps_rollup"); err != nil {
		p.noPSS = errors.New("the kernel has no smaps_rollup, which came with Linux 4.14")
	}
	return p
}

// read returns the content of a file of a process. It is valid until the next read.
func (p *procFS) read(pid int, name string) ([]byte, error) {
	fd, err := retry(func() (int, error) {
		return unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, gone(err)
	}
	defer unix.Close(fd)
	p.buffer = p.buffer[:0]
	for {
		if len(p.buffer) == cap(p.buffer) {
			p.buffer = append(p.buffer, 0)[:len(p.buffer)]
		}
		n, err := retry(func() (int, error) { return unix.Read(fd, p.buffer[len(p.buffer):cap(p.buffer)]) })
		if err != nil {
			return nil, gone(err)
		}
		if n == 0 {
			return p.buffer, nil
		}
		p.buffer = p.buffer[:len(p.buffer)+n]
	}
}

func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

// gone tells the errors by which /proc says that a process has ended from all others.
func gone(err error) error {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return errGone
	}
	return err
}

// status reads a process's clock and its stat file. The clock knows its CPU time to the nanosecond, stat only to the tick of 10 ms, each
// of user and system time rounded down. The clock is read first: when stat then still shows the same process, it was that one's.
func (p *procFS) status(pid int) (status, error) {
	exact, clockErr := processClock(pid)
	text, err := p.read(pid, "stat")
	if err != nil {
		return status{}, err
	}
	s, ticks, err := p.parseStat(text)
	if err != nil {
		return status{}, fmt.Errorf("/proc/%d/stat: %w", pid, err)
	}
	s.cpu = exact
	if clockErr != nil {
		s.cpu = ticks
	}
	return s, nil
}

// processClock returns the CPU time of all threads of a process, ended ones included.
func processClock(pid int) (time.Duration, error) {
	const scheduler = 2 // CPUCLOCK_SCHED: the scheduler's own count, in nanoseconds
	var at unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduler), &at); err != nil {
		return 0, err
	}
	return time.Duration(at.Nano()), nil
}

// parseStat reads a stat file, see proc_pid_stat(5); ticks is the process's own CPU time as it is told there.
func (p *procFS) parseStat(text []byte) (s status, ticks time.Duration, err error) {
	// The name of the program is in brackets and may hold spaces and brackets.
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return status{}, 0, errors.New("no program name")
	}
	p.parts = fields(text[end+1:], p.parts[:0])
	const state, parent, utime, stime, cutime, cstime, threads, started = 0, 1, 11, 12, 13, 14, 17, 19 // counted from the state
	if len(p.parts) <= started {
		return status{}, 0, fmt.Errorf("%d fields", len(p.parts))
	}
	var numbers [started + 1]uint64
	for _, i := range []int{parent, utime, stime, cutime, cstime, threads, started} {
		if numbers[i], err = strconv.ParseUint(string(p.parts[i]), 10, 64); err != nil {
			return status{}, 0, err
		}
	}
	const tick = time.Second / ticksPerSecond
	letter := p.parts[state][0]
	return status{
		parent:  int(numbers[parent]),
		started: numbers[started],
		zombie:  letter == 'Z' || letter == 'X' || letter == 'x',
		reaped:  time.Duration(numbers[cutime]+numbers[cstime]) * tick,
		threads: int(numbers[threads]),
	}, time.Duration(numbers[utime]+numbers[stime]) * tick, nil
}

// fields appends the words of text.
func fields(text []byte, words [][]byte) [][]byte {
	for {
		text = bytes.TrimLeft(text, " \n")
		if len(text) == 0 {
			return words
		}
		end := bytes.IndexAny(text, " \n")
		if end < 0 {
			end = len(text)
		}
		words = append(words, text[:end])
		text = text[end:]
	}
}

// disk reads what a process caused to be read from and written to storage. A written byte counts when a page becomes dirty, so what is
// deleted before it reaches the device counts too.
func (p *procFS) disk(pid int) (disk, error) {
	text, err := p.read(pid, "io")
	if err != nil {
		return disk{}, err
	}
	read, ok := value(text, "read_bytes:")
	written, also := value(text, "write_bytes:")
	if !ok || !also {
		return disk{}, fmt.Errorf("/proc/%d/io does not tell it", pid)
	}
	return disk{read: read, written: written}, nil
}

// value returns the number behind a name at the beginning of a line.
func value(text []byte, name string) (int64, bool) {
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte(name)); found {
			digits := bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(rest), []byte("kB")))
			n, err := strconv.ParseInt(string(digits), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// children returns the children of all threads of a process: the kernel keeps them by the thread that forked.
func (p *procFS) children(pid, threads int) []int {
	if !p.listed {
		return p.search(pid)
	}
	tasks := []string{strconv.Itoa(pid)}
	if threads > 1 {
		tasks = names(fmt.Sprintf("/proc/%d/task", pid))
	}
	var found []int
	for _, task := range tasks {
		text, err := p.read(pid, "task/"+task+"/children")
		if err != nil {
			continue // the thread ended
		}
		p.parts = fields(text, p.parts[:0])
		for _, word := range p.parts {
			if child, err := strconv.Atoi(string(word)); err == nil {
				found = append(found, child)
			}
		}
	}
	return found
}

// search looks through all processes for the children of one, for kernels built without lists of children.
func (p *procFS) search(parent int) []int {
	var found []int
	for _, name := range names("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := p.status(pid); err == nil && s.parent == parent {
			found = append(found, pid)
		}
	}
	return found
}

func names(dir string) []string {
	file, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer file.Close()
	list, err := file.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return list
}

// ticks returns the time since boot, sleep included, as start times of processes count.
func (p *procFS) ticks() uint64 {
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &at); err != nil {
		return 0 // everything counts as younger than the start, which is true of all but adopted processes
	}
	return uint64(at.Nano()) * ticksPerSecond / uint64(time.Second)
}

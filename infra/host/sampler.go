package host

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// How often a Sampler looks. CPU time and disk traffic are kept by the kernel and lose nothing between looks; looking finds new
// processes, and keeps what a process has used when it ends without a parent to inherit it. Memory is known only when it is looked at,
// but the kernel walks the page tables of every process for it, which takes milliseconds per gigabyte.
const (
	lookEvery   = 250 * time.Millisecond
	memoryEvery = time.Second
	// quiet is how many times as long as a look took the Sampler waits at least before the next one: no kind of look takes more than
	// one hundredth of a core from what is being measured, however large the tree.
	quiet = 100
)

// machine reads processes and what memory they hold together, in bytes.
type machine interface {
	source
	proportional(pids []int) (int64, error) // PSS: shared memory divided among its holders
	residentOf(pids []int) (int64, error)   // an estimate from resident set sizes
}

// Sampler measures what a process and its descendants use between Start and Stop: CPU time, memory and disk traffic. What cannot be read
// is absent and named, never zero. It is quiet by construction, see lookEvery and quiet: start it just before a leg and stop it
// just after, since the figures are of all the time in between.
type Sampler struct {
	pid     int
	exclude map[int]bool
	alone   bool

	machine machine
	tree    *tree
	begun   time.Time
	seen    time.Time // the last look at which anything of the tree ran, or was found to have run
	used    time.Duration
	ended   time.Time // when the process was found to have ended, wall clock
	memory  memory
	group   *groupSeries
	failed  string // why nothing can be read at all

	once       sync.Once
	stop, done chan struct{}
	usage      *result.Usage
	note       string
}

// Option changes what a Sampler covers.
type Option func(*Sampler)

// Exclude keeps processes, and what descends from them, out of the tree: the agent, where it was started below the server.
func Exclude(pids ...int) Option {
	return func(s *Sampler) {
		for _, pid := range pids {
			s.exclude[pid] = true
		}
	}
}

// Start begins to measure the tree of the process pid. It never fails: what is wrong is in what Stop returns.
//
// Every process that descends from pid is covered from its first to its last instruction as long as its parent reaps it, seen or not. A
// descendant that detaches itself, so that its parent ends before it was seen once, is not.
func Start(pid int, options ...Option) *Sampler {
	s := newSampler(pid, options)
	s.start()
	return s
}

func newSampler(pid int, options []Option) *Sampler {
	s := &Sampler{pid: pid, exclude: map[int]bool{}}
	for _, option := range options {
		option(s)
	}
	return s
}

// Memory reads once what the process pid and its descendants hold now. It is nil when that cannot be read, and the note says why; otherwise the note is a
// remark on the figures, or empty.
func Memory(pid int, options ...Option) (held *result.Memory, note string) {
	s := newSampler(pid, options)
	if failed := s.prepare(); failed != "" {
		return nil, failed
	}
	_, bytes, err := s.memory.figures()
	if err != nil {
		return nil, fmt.Sprintf("memory of process %d: %v", pid, err)
	}
	held = &result.Memory{Bytes: bytes, Kind: s.memory.kind()}
	if s.group != nil {
		held.Group = s.group.peak
	}
	return held, strings.Join(s.remarks(), "; ")
}

// StartSelf begins to measure this process alone, without what descends from it: in the agent, the cost of measuring. With an embedded
// engine the agent is the database too, and the two cannot be told apart.
func StartSelf() *Sampler {
	s := &Sampler{pid: os.Getpid(), exclude: map[int]bool{}, alone: true}
	s.start()
	return s
}

func (s *Sampler) start() {
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	if s.failed = s.prepare(); s.failed != "" {
		close(s.done)
		return
	}
	go s.run()
}

// prepare takes the first memory sample and opens the books; it returns why it cannot.
func (s *Sampler) prepare() string {
	switch {
	case s.pid <= 0:
		return "no process is known that could be measured"
	case s.exclude[s.pid]:
		return fmt.Sprintf("process %d was to be measured and left out at once", s.pid)
	}
	var err error
	var readGroup func() groupFigures
	if s.machine == nil {
		if s.machine, err = newMachine(); err != nil {
			return err.Error()
		}
		if readGroup = groupOf(s.pid); s.alone {
			readGroup = throttleOf(s.pid)
		}
	}
	// The first sample of memory may take long. The books are opened after it, so that it is not in the time that is measured.
	if s.tree, err = newTree(s.machine, s.pid, s.exclude, s.alone); err == nil {
		s.memory.sample(s.machine, s.tree.running())
		s.begun = time.Now()
		s.group = newGroupSeries(readGroup)
		s.tree, err = newTree(s.machine, s.pid, s.exclude, s.alone)
	}
	if errors.Is(err, errGone) {
		return fmt.Sprintf("process %d is not there, or this user may not see it", s.pid)
	} else if err != nil {
		return fmt.Sprintf("process %d cannot be read: %v", s.pid, err)
	}
	s.seen = s.begun
	return ""
}

func (s *Sampler) run() {
	defer close(s.done)
	look, remember := time.NewTimer(lookEvery), time.NewTimer(memoryEvery)
	defer look.Stop()
	defer remember.Stop()
	if s.alone {
		look.Stop() // its own clock is exact, and no one has to be found
	}
	for {
		select {
		case <-s.stop:
			s.look()
			s.group.look()
			s.memory.sample(s.machine, s.tree.running())
			return
		case <-look.C:
			took := s.look()
			look.Reset(max(lookEvery, quiet*took))
		case <-remember.C:
			s.group.look()
			took := s.memory.sample(s.machine, s.tree.running())
			remember.Reset(max(memoryEvery, quiet*took))
		}
	}
}

// look updates the books and returns how long that took.
func (s *Sampler) look() time.Duration {
	at := time.Now()
	s.tree.round()
	if s.tree.ended() && s.ended.IsZero() {
		s.ended = at
	}
	// The figures are of the time up to the last look that could change them: a tree that has ended uses nothing more, but what its
	// processes used at the last was perhaps only seen now.
	if used := s.tree.cpu(); len(s.tree.running()) > 0 || used != s.used {
		s.seen, s.used = at, used
	}
	return time.Since(at)
}

// Stop ends measuring and returns what was used since Start. The usage is nil when nothing could be read, and the note says why;
// otherwise the note is a remark on the figures, such as that the process ended, or empty. Stopping again returns the same.
func (s *Sampler) Stop() (*result.Usage, string) {
	s.once.Do(func() {
		close(s.stop)
		<-s.done
		if s.failed != "" {
			s.note = s.failed
			return
		}
		s.usage = s.report()
		s.note = strings.Join(s.remarks(), "; ")
	})
	return s.usage, s.note
}

func (s *Sampler) report() *result.Usage {
	u := &result.Usage{Processes: s.tree.most, Group: s.group.report()}
	// Both readings of the clock are monotonic, and each was taken just before the books were read.
	if wall := s.seen.Sub(s.begun); wall > 0 {
		used := s.tree.cpu().Seconds()
		u.CPUSeconds, u.CPUCores = new(used), new(used/wall.Seconds())
	} else {
		u.Missing = append(u.Missing, fmt.Sprintf("CPU: process %d ended before it could be looked at twice", s.pid))
	}
	if mean, peak, err := s.memory.figures(); err == nil {
		u.MemoryMean, u.MemoryPeak, u.MemoryKind = &mean, &peak, s.memory.kind()
	} else {
		u.Missing = append(u.Missing, fmt.Sprintf("memory: %v", err))
	}
	if moved, err := s.tree.traffic(); err == nil {
		u.ReadBytes, u.WrittenBytes = &moved.read, &moved.written
	} else {
		u.Missing = append(u.Missing, fmt.Sprintf("disk: %v", err))
	}
	return u
}

func (s *Sampler) remarks() []string {
	var remarks []string
	if !s.ended.IsZero() {
		until := "the figures are of the time until then"
		if len(s.tree.running()) > 0 {
			until = "what it left running is counted to the end"
		}
		remarks = append(remarks, fmt.Sprintf("process %d ended at %s or just before; %s", s.pid, s.ended.UTC().Format("2006-01-02 15:04:05.0 UTC"), until))
	}
	if s.memory.fallback != nil {
		remarks = append(remarks, fmt.Sprintf("memory is estimated from resident set sizes: proportional ones cannot be read (%v)", s.memory.fallback))
	}
	return remarks
}

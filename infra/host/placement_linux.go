package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"github.com/dustin/go-humanize"
	"golang.org/x/sys/unix"
)

// Start starts a command that is placed before its first instruction. Once it runs, nothing of this process is changed.
func (p Placement) Start(cmd *exec.Cmd) error {
	if p.zero() {
		return cmd.Start()
	}
	if cmd.SysProcAttr != nil && cmd.SysProcAttr.Pdeathsig != 0 {
		return errors.New("place a command: it would get its death signal at once, when the thread that starts it ends")
	}
	return onThread(func() error {
		if err := p.placeThread(0); err != nil {
			return err
		}
		return p.limited(cmd.Start)
	})
}

// onThread calls f on a thread of its own. What f changes of the thread its child processes inherit; the thread is never unlocked, so it
// ends with f and nothing else ever runs on it.
func onThread(f func() error) error {
	result := make(chan error, 1)
	alone := func() {
		runtime.LockOSThread()
		result <- f()
	}
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			alone()
			return
		}
		// The first thread cannot end, and by it the kernel and this package tell how the process is placed. While it is locked here, what
		// is started runs on another.
		begun := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(begun)
			alone()
		}()
		<-begun
		runtime.UnlockOSThread()
	}()
	return <-result
}

// placeThread places one thread, 0 for the one that calls.
func (p Placement) placeThread(id int) error {
	if len(p.CPUs) > 0 {
		var set, got unix.CPUSet
		for _, cpu := range p.CPUs {
			set.Set(cpu)
		}
		if err := unix.SchedSetaffinity(id, &set); err != nil {
			return fmt.Errorf("run on CPUs %s: %w", p.CPUList(), err)
		}
		// CPUs that a control group does not allow are left out without a word.
		if err := unix.SchedGetaffinity(id, &got); err != nil || got != set {
			return fmt.Errorf("run on CPUs %s: only %d of them are allowed here", p.CPUList(), got.Count())
		}
	}
	if p.Nice != nil {
		if err := unix.Setpriority(unix.PRIO_PROCESS, id, *p.Nice); err != nil {
			return fmt.Errorf("run at nice %d: %w", *p.Nice, refusal(err))
		}
	}
	priority, err := parseIO(p.IO)
	if err != nil {
		return err
	}
	if priority != 0 {
		const process = 1 // IOPRIO_WHO_PROCESS: a thread
		if _, _, code := unix.Syscall(unix.SYS_IOPRIO_SET, process, uintptr(id), uintptr(priority)); code != 0 {
			return fmt.Errorf("run at io priority %s: %w", p.IO, refusal(code))
		}
	}
	return nil
}

// limitsMutex keeps two commands that are started at once from taking each other's limits for those of this process.
var limitsMutex sync.Mutex

// limited calls start while this process has the wanted limits, which a command inherits, and then takes them back: what is started
// elsewhere in that moment has more than it needs, which does no harm.
func (p Placement) limited(start func() error) (err error) {
	limitsMutex.Lock()
	defer limitsMutex.Unlock()
	for _, limit := range []struct {
		resource int
		wanted   int64
		name     string
	}{
		{unix.RLIMIT_NOFILE, p.OpenFiles, "open files"},
		{unix.RLIMIT_MEMLOCK, p.LockedBytes, "locked memory"},
	} {
		before, err := raiseLimit(limit.resource, limit.wanted)
		if err != nil {
			return fmt.Errorf("raise the limit of %s: %w", limit.name, err)
		}
		if before != nil {
			// A hard limit that was raised can always be lowered. With syscall.Setrlimit the runtime no longer gives children the limit
			// of open files that this process was started with.
			defer func() { err = errors.Join(err, syscall.Setrlimit(limit.resource, before)) }()
		}
	}
	return start()
}

// raiseLimit raises a limit of this process to at least what is wanted and returns what it was; nil when nothing was changed.
func raiseLimit(resource int, wanted int64) (*syscall.Rlimit, error) {
	if wanted == 0 {
		return nil, nil
	}
	want := uint64(wanted)
	if wanted == Unlimited {
		want = unix.RLIM_INFINITY
	}
	var before syscall.Rlimit
	if err := syscall.Getrlimit(resource, &before); err != nil {
		return nil, err
	}
	after := syscall.Rlimit{Cur: max(before.Cur, want), Max: max(before.Max, want)}
	if after.Max > before.Max {
		// Only with rights; where the kernel has an upper bound of its own (fs.nr_open) it says so.
		if err := syscall.Setrlimit(resource, &after); err != nil {
			return nil, fmt.Errorf("this process may have at most %s: %w", limitText(resource, before.Max), refusal(err))
		}
		return &before, nil
	}
	return &before, syscall.Setrlimit(resource, &after)
}

// limitText writes a limit in its unit.
func limitText(resource int, n uint64) string {
	switch {
	case n == unix.RLIM_INFINITY:
		return "unlimited"
	case resource == unix.RLIMIT_MEMLOCK:
		return humanize.IBytes(n)
	}
	return strconv.FormatUint(n, 10)
}

// Place moves a process that runs already, and everything that descends from it, threads that come meanwhile included.
func (p Placement) Place(pid int) error {
	if p.zero() {
		return nil
	}
	fs := newProcFS()
	first, err := fs.status(pid)
	if err != nil {
		return fmt.Errorf("place process %d: %w", pid, err)
	}
	placed := map[int]bool{}
	// New threads and processes are where their makers were. What is found in a pass was made by one that was not yet placed, so there is
	// an end to it.
	const passes = 20
	for range passes {
		fresh := 0
		todo := []int{pid}
		for i := 0; i < len(todo); i++ { // grows while it is walked
			n, err := p.placeProcess(todo[i], placed)
			if err != nil {
				return fmt.Errorf("place process %d: %w", todo[i], err)
			}
			fresh += n
			if s, err := fs.status(todo[i]); err == nil {
				todo = append(todo, fs.children(todo[i], s.threads)...)
			}
		}
		if fresh == 0 {
			break
		}
	}
	if now, err := fs.status(pid); err != nil || now.started != first.started {
		return fmt.Errorf("place process %d: %w", pid, errGone)
	}
	return nil
}

// placeProcess places the threads of a process that are not yet placed and returns how many those were. A process or thread that has
// ended is no error.
func (p Placement) placeProcess(pid int, placed map[int]bool) (fresh int, err error) {
	for _, name := range names("/proc/" + strconv.Itoa(pid) + "/task") {
		id, err := strconv.Atoi(name)
		if err != nil || placed[id] {
			continue
		}
		if err := p.placeThread(id); err != nil && !errors.Is(err, unix.ESRCH) {
			return fresh, err
		}
		placed[id] = true
		fresh++
	}
	for resource, wanted := range map[int]int64{unix.RLIMIT_NOFILE: p.OpenFiles, unix.RLIMIT_MEMLOCK: p.LockedBytes} {
		if err := raiseLimitOf(pid, resource, wanted); err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, os.ErrNotExist) {
			return fresh, err
		}
	}
	return fresh, nil
}

// raiseLimitOf raises a limit of another process.
func raiseLimitOf(pid, resource int, wanted int64) error {
	if wanted == 0 {
		return nil
	}
	want := uint64(wanted)
	if wanted == Unlimited {
		want = unix.RLIM_INFINITY
	}
	var now unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
		return err
	}
	if now.Cur >= want {
		return nil
	}
	next := unix.Rlimit{Cur: want, Max: max(now.Max, want)}
	if err := unix.Prlimit(pid, resource, &next, nil); err != nil {
		return fmt.Errorf("raise its limit from %s to %s: %w", limitText(resource, now.Cur), limitText(resource, want), refusal(err))
	}
	return nil
}

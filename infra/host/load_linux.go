package host

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// cpuTimes are the machine's since boot, all CPUs together.
type cpuTimes struct{ busy, stolen time.Duration }

// cpuTimes reads the first line of /proc/stat: user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice. The time of
// guests is in user and nice too.
func (s system) cpuTimes() (times cpuTimes, blocked int, err error) {
	text, err := os.ReadFile(s.path("proc/stat"))
	if err != nil {
		return cpuTimes{}, 0, err
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	words := strings.Fields(string(line))
	if len(words) < 8 || words[0] != "cpu" {
		return cpuTimes{}, 0, fmt.Errorf("/proc/stat begins with %q", line)
	}
	const tick = time.Second / ticksPerSecond
	for i, word := range words[1:min(9, len(words))] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return cpuTimes{}, 0, fmt.Errorf("/proc/stat: %w", err)
		}
		const idle, iowait, steal = 3, 4, 7
		switch i {
		case idle, iowait:
		case steal:
			times.stolen = time.Duration(n) * tick
		default:
			times.busy += time.Duration(n) * tick
		}
	}
	waiting, _ := value(text, "procs_blocked")
	return times, int(waiting), nil
}

// loadReader returns what reads the machine's load, and the part of these processes and all that descends from them in it.
func (s system) loadReader(ours []int) func() (load, error) {
	var trees []*tree
	for _, pid := range ours {
		if t, err := newTree(newProcFS(), pid, nil, false); err == nil { // one that has ended uses nothing
			trees = append(trees, t)
		}
	}
	return func() (load, error) {
		var l load
		for _, t := range trees {
			t.round()
			l.ours += t.cpu()
		}
		times, blocked, err := s.cpuTimes()
		if err != nil {
			return load{}, err
		}
		l.busy, l.blocked = times.busy, blocked
		first, _, _ := strings.Cut(s.word("proc/loadavg"), " ")
		if l.average, err = strconv.ParseFloat(first, 64); err != nil {
			return load{}, errors.New("/proc/loadavg cannot be read")
		}
		return l, nil
	}
}

func (s system) quietStep(i Isolation) step {
	return step{name: StepQuiet, asked: fmt.Sprintf("load below %.4g within %v", i.Load, i.Wait), take: func(ctx context.Context, t *turn) (took, error) {
		ours := append([]int{s.pid}, i.Ours...)
		q := quietWait{below: i.Load, most: i.Wait, read: s.loadReader(ours), progress: t.progress}
		q.blame = func() string { return busiest(ctx, time.Second, ours) }
		saw, err := q.wait(ctx)
		got := took{before: fmt.Sprintf("%.2f", saw.first), after: fmt.Sprintf("%.2f", saw.last)}
		got.why = fmt.Sprintf("load average %.2f", saw.average)
		return got, err
	}}
}

// busiest watches for a while and names the processes that used most of the CPU time, without ours and what descends from them:
// "postgres (4711) 0.93, kswapd0 (52) 0.10".
func busiest(ctx context.Context, window time.Duration, ours []int) string {
	fs := newProcFS()
	first := processes(fs)
	begun := time.Now()
	select {
	case <-ctx.Done():
		return ""
	case <-time.After(window):
	}
	last := processes(fs)
	passed := time.Since(begun)
	type user struct {
		pid   int
		share float64
	}
	var users []user
	for pid, now := range last {
		was := first[pid] // nothing of one that began meanwhile
		if was.started != now.started {
			was = status{}
		}
		if share := (now.cpu - was.cpu).Seconds() / passed.Seconds(); share >= 0.05 && !descends(last, pid, ours) {
			users = append(users, user{pid, share})
		}
	}
	slices.SortFunc(users, func(a, b user) int { return cmp.Or(cmp.Compare(b.share, a.share), cmp.Compare(a.pid, b.pid)) })
	var named []string
	for _, u := range users[:min(3, len(users))] {
		name, err := fs.read(u.pid, "comm")
		if err != nil {
			name = []byte("?")
		}
		named = append(named, fmt.Sprintf("%s (%d) %.2f", bytes.TrimSpace(name), u.pid, u.share))
	}
	return strings.Join(named, ", ")
}

// processes returns the status of every process that can be seen.
func processes(fs *procFS) map[int]status {
	all := map[int]status{}
	for _, name := range names("/proc") {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if s, err := fs.status(pid); err == nil {
			all[pid] = s
		}
	}
	return all
}

// descends tells whether a process is one of the roots or below it.
func descends(all map[int]status, pid int, roots []int) bool {
	for range 1000 { // ids that were used again could make a circle
		if slices.Contains(roots, pid) {
			return true
		}
		s, ok := all[pid]
		if !ok || s.parent <= 0 {
			return false
		}
		pid = s.parent
	}
	return false
}

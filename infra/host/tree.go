package host

import (
	"errors"
	"fmt"
	"time"
)

// errGone is the error of reading a process that has ended and was reaped.
var errGone = errors.New("process is gone")

// status is what the kernel says of a process at one moment. CPU and disk figures only grow.
type status struct {
	parent  int           // process id of the parent
	started uint64        // when the process started, in clock ticks since boot; with the id it names a process for good
	zombie  bool          // ended, and not yet reaped by its parent
	cpu     time.Duration // CPU time of all its threads, ended ones included
	reaped  time.Duration // CPU time of all the descendants that it has reaped, through its children
	threads int
}

// disk is the storage traffic of a process in bytes, with that of all the descendants that it has reaped.
type disk struct{ read, written int64 }

// source reads processes. The real one is /proc.
type source interface {
	// status reads a process, or returns errGone.
	status(pid int) (status, error)
	// disk reads a process's storage traffic, or returns errGone, or an error that tells why it cannot be read.
	disk(pid int) (disk, error)
	// children returns the ids of a process's children, as far as they can be read.
	children(pid, threads int) []int
	// ticks returns the present moment as status.started counts.
	ticks() uint64
}

// account is what is known of one process of the tree.
type account struct {
	pid, parent int
	started     uint64
	threads     int
	zombie      bool
	excluded    bool // watched so that its parent is not charged with it when it ends, but not part of the tree

	base, cpu          time.Duration // own CPU time when the process came into view, and now
	reapedBase, reaped time.Duration // that of reaped descendants, likewise
	// known is what of reaped may be on accounts of their own: the last seen totals of children that have vanished.
	known time.Duration

	diskBase, disk disk
	// gained is what disk grew by in the last round: what was inherited since the round before, when the children that are missing now
	// were seen alive after this process was read, is in it.
	gained disk
	// pending is traffic of vanished children that may turn up in the next round's gain.
	pending disk
}

// tree keeps the books of a process and its descendants, so that what each has used since the start is counted once, whether it lives,
// has ended, or came and went between two looks.
//
// The kernel hands the CPU time and the disk traffic of a process to its parent when the parent reaps it. What a child used that
// was never seen is therefore found on the parent, and what a vanished child was seen to use is found there a second time. So of
// what a parent has reaped, everything up to the last seen totals of its vanished children is left out. When children end without
// being reaped (their parent ignores SIGCHLD, or ended before them), the last seen totals stay and what they used after that is
// lost: the sum is never too high, and low by at most one round of such a child.
//
// A process whose parent ends before the child was ever seen leaves the tree unnoticed.
type tree struct {
	src      source
	root     int
	exclude  map[int]bool
	alone    bool // the root only, without descendants
	begun    uint64
	live     []*account // parents before their children, as far as they were found in that order
	byPID    map[int]*account
	done     time.Duration // CPU time of processes that have vanished
	doneDisk disk
	twice    disk  // traffic that stands on two accounts
	noDisk   error // why the traffic cannot be told
	most     int   // most processes at once
	rootGone bool
}

// newTree opens the books on a process. It fails when the process cannot be read.
func newTree(src source, root int, exclude map[int]bool, alone bool) (*tree, error) {
	t := &tree{src: src, root: root, exclude: exclude, alone: alone, begun: src.ticks(), byPID: map[int]*account{}}
	first, err := src.status(root)
	if err != nil {
		return nil, err
	}
	t.open(root, first, true)
	t.discover(true)
	t.count()
	return t, nil
}

// open begins the account of a process that came into view. What it used before the start does not count.
func (t *tree) open(pid int, s status, atStart bool) {
	a := &account{pid: pid, started: s.started, excluded: t.exclude[pid]}
	a.update(s)
	a.disk, _ = t.readDisk(pid)
	if atStart || s.started < t.begun {
		a.base, a.reapedBase, a.diskBase = a.cpu, a.reaped, a.disk
	}
	t.live = append(t.live, a)
	t.byPID[pid] = a
}

func (a *account) update(s status) {
	a.parent, a.zombie, a.threads = s.parent, s.zombie, s.threads
	a.cpu, a.reaped = max(a.cpu, s.cpu), max(a.reaped, s.reaped)
}

// readDisk reads traffic, and remembers when it cannot be read: the sum of some processes of a tree would be a wrong number.
func (t *tree) readDisk(pid int) (d disk, gone bool) {
	if t.noDisk != nil {
		return disk{}, false
	}
	d, err := t.src.disk(pid)
	switch {
	case errors.Is(err, errGone):
		return disk{}, true
	case err != nil:
		t.noDisk = fmt.Errorf("process %d: %w", pid, err)
	}
	return d, false
}

// discover opens accounts for the descendants that have none.
func (t *tree) discover(atStart bool) {
	if t.alone {
		return
	}
	for i := 0; i < len(t.live); i++ { // grows while it is walked
		a := t.live[i]
		if a.excluded || a.zombie {
			continue
		}
		for _, pid := range t.src.children(a.pid, a.threads) {
			if t.byPID[pid] != nil {
				continue
			}
			// Another process may have taken the id since the list was read.
			if s, err := t.src.status(pid); err == nil && s.parent == a.pid {
				t.open(pid, s, atStart)
			}
		}
	}
}

// round looks at every process again. It reads parents before their children: a child that is seen alive in one round cannot have been
// reaped before its parent was read in the same round.
func (t *tree) round() {
	var vanished []*account
	var kept []*account
	for _, a := range t.live {
		s, err := t.src.status(a.pid)
		if err != nil || s.started != a.started {
			vanished = append(vanished, a)
			continue
		}
		a.update(s)
		a.gained = disk{}
		if d, gone := t.readDisk(a.pid); !gone {
			a.gained, a.disk = d.minus(a.disk), d
		}
		late := a.pending.atMost(a.gained)
		a.pending, a.gained = disk{}, a.gained.minus(late)
		if !a.excluded {
			t.twice = t.twice.plus(late)
		}
		kept = append(kept, a)
	}
	t.live = kept
	t.close(vanished)
	t.discover(false)
	t.count()
}

// close settles the accounts of processes that have vanished. What they were seen to use stays counted on them, so it must not count
// on whoever has inherited it: their parent, or when that vanished too, the next living one above.
func (t *tree) close(vanished []*account) {
	gone := map[int]*account{}
	for _, a := range vanished {
		delete(t.byPID, a.pid)
		gone[a.pid] = a
		t.rootGone = t.rootGone || a.pid == t.root
		if !a.excluded {
			t.done += a.used()
			t.doneDisk = t.doneDisk.plus(a.disk.minus(a.diskBase))
		}
	}
	for _, a := range vanished {
		// What it had inherited itself belongs to what it leaves, also where that was not yet read.
		cpu, left := a.cpu+max(a.reaped, a.reapedBase+a.known), a.disk.plus(a.pending)
		heir := a
		for steps := 0; heir != nil && gone[heir.pid] == heir; steps++ {
			if heir = t.parent(heir, gone); steps > len(vanished) {
				heir = nil // ids that were used again name each other as parents
			}
		}
		if heir == nil {
			continue // reaped by someone outside the tree
		}
		heir.known += cpu
		heir.pending = heir.pending.plus(left)
	}
	for _, heir := range t.live {
		now := heir.pending.atMost(heir.gained)
		heir.pending = heir.pending.minus(now)
		if !heir.excluded {
			t.twice = t.twice.plus(now)
		}
	}
}

// parent returns the account of the process that reaps a, be it among those that have just gone; nil when it is outside the tree.
func (t *tree) parent(a *account, gone map[int]*account) *account {
	if heir := t.byPID[a.parent]; heir != nil {
		return heir
	}
	return gone[a.parent]
}

// used returns the CPU time since the start that stands on this account and on no other.
func (a *account) used() time.Duration {
	return a.cpu - a.base + max(0, a.reaped-a.reapedBase-a.known)
}

func (t *tree) count() {
	n := 0
	for _, a := range t.live {
		if !a.excluded && !a.zombie {
			n++
		}
	}
	t.most = max(t.most, n)
}

// cpu returns the CPU time that the tree has used since the start.
func (t *tree) cpu() time.Duration {
	if t.alone {
		if root := t.byPID[t.root]; root != nil {
			return root.cpu - root.base
		}
	}
	sum := t.done
	for _, a := range t.live {
		if !a.excluded {
			sum += a.used()
		}
	}
	return sum
}

// traffic returns the storage traffic since the start, or why it cannot be told.
func (t *tree) traffic() (disk, error) {
	if t.noDisk != nil {
		return disk{}, t.noDisk
	}
	sum := t.doneDisk
	for _, a := range t.live {
		if !a.excluded {
			sum = sum.plus(a.disk.minus(a.diskBase))
		}
	}
	return sum.minus(t.twice), nil
}

// running returns the ids of the processes that hold memory.
func (t *tree) running() []int {
	pids := make([]int, 0, len(t.live))
	for _, a := range t.live {
		if !a.excluded && !a.zombie {
			pids = append(pids, a.pid)
		}
	}
	return pids
}

// ended tells whether the root has ended, reaped or not.
func (t *tree) ended() bool {
	root := t.byPID[t.root]
	return t.rootGone || root == nil || root.zombie
}

func (d disk) plus(o disk) disk   { return disk{d.read + o.read, d.written + o.written} }
func (d disk) minus(o disk) disk  { return disk{d.read - o.read, d.written - o.written} }
func (d disk) atMost(o disk) disk { return disk{min(d.read, o.read), min(d.written, o.written)} }

package host

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// kernel is a simulated process table that keeps accounts as Linux does. Before every look at it, time goes on: that is where a sampler
// that reads one process after another goes wrong.
type kernel struct {
	t        *rapid.T
	procs    map[int]*proc
	next     int
	clock    uint64
	truth    time.Duration // CPU time that the tree has really used since the start
	traffic  disk
	faithful bool // parents reap their children, so nothing is ever lost
	events   int  // at most so many between two looks
	running  bool // the sampler has begun
}

type proc struct {
	pid, parent   int
	started       uint64
	cpu, reaped   time.Duration
	disk          disk
	zombie        bool
	ignoresDeaths bool // its children are never reaped by it: SIGCHLD is ignored
	excluded      bool
	outside       bool
}

const initPID = 1

func newKernel(t *rapid.T, faithful bool) *kernel {
	k := &kernel{t: t, procs: map[int]*proc{}, next: 100, clock: 1000, faithful: faithful}
	k.procs[initPID] = &proc{pid: initPID, outside: true}
	return k
}

func (k *kernel) fork(parent int) *proc {
	p := &proc{pid: k.next, parent: parent, started: k.clock, ignoresDeaths: !k.faithful && rapid.Bool().Draw(k.t, "ignores deaths")}
	k.next++
	k.procs[p.pid] = p
	return p
}

func (k *kernel) pids() []int { return slices.Sorted(maps.Keys(k.procs)) }

// event lets one thing happen in the tree.
func (k *kernel) event() {
	k.clock++
	pid := rapid.SampledFrom(k.pids()).Draw(k.t, "process")
	p := k.procs[pid]
	if p.outside {
		return
	}
	switch kind := rapid.IntRange(0, 9).Draw(k.t, "event"); {
	case p.zombie:
		k.reap(p)
	case kind < 4:
		used := time.Duration(rapid.IntRange(1, 1000).Draw(k.t, "used"))
		moved := disk{int64(rapid.IntRange(0, 100).Draw(k.t, "read")), int64(rapid.IntRange(0, 100).Draw(k.t, "written"))}
		p.cpu += used
		p.disk = p.disk.plus(moved)
		if k.running && !p.excluded {
			k.truth += used
			k.traffic = k.traffic.plus(moved)
		}
	case kind < 7:
		if !p.excluded {
			k.fork(pid)
		}
	case !p.excluded && (pid != 100 || !k.faithful && k.running): // ends; the root only when things may be lost, and not before there is a tree
		if k.faithful && slices.ContainsFunc(k.pids(), func(c int) bool { return k.procs[c].parent == pid }) {
			return // would leave orphans
		}
		p.zombie = true
		for _, c := range k.pids() {
			if k.procs[c].parent == pid {
				k.procs[c].parent = initPID
			}
		}
		if p.parent == initPID || k.procs[p.parent].ignoresDeaths {
			delete(k.procs, pid) // gone without a trace
		}
	}
}

// reap hands a zombie's accounts to its parent, as wait does.
func (k *kernel) reap(p *proc) {
	parent := k.procs[p.parent]
	parent.reaped += p.cpu + p.reaped
	parent.disk = parent.disk.plus(p.disk)
	delete(k.procs, p.pid)
}

func (k *kernel) pass() {
	for range rapid.IntRange(0, k.events).Draw(k.t, "events") {
		k.event()
	}
}

func (k *kernel) status(pid int) (status, error) {
	k.pass()
	p := k.procs[pid]
	if p == nil {
		return status{}, errGone
	}
	return status{parent: p.parent, started: p.started, zombie: p.zombie, cpu: p.cpu, reaped: p.reaped, threads: 1}, nil
}

func (k *kernel) disk(pid int) (disk, error) {
	k.pass()
	if k.procs[pid] == nil {
		return disk{}, errGone
	}
	return k.procs[pid].disk, nil
}

func (k *kernel) children(pid, _ int) []int {
	k.pass()
	var found []int
	for _, c := range k.pids() {
		if k.procs[c].parent == pid {
			found = append(found, c)
		}
	}
	return found
}

func (k *kernel) ticks() uint64 { return k.clock }

// begin makes a tree with a past and starts the books on it while nothing happens.
func begin(t *rapid.T, k *kernel) *tree {
	k.fork(initPID)
	agent := k.fork(100)
	agent.excluded = true
	for range rapid.IntRange(0, 20).Draw(t, "past") {
		k.event()
	}
	k.running = true
	tree, err := newTree(k, 100, map[int]bool{agent.pid: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestEveryCPUSecondIsCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := newKernel(t, true)
		tree := begin(t, k)
		rounds := rapid.IntRange(1, 6).Draw(t, "rounds")
		for range rounds {
			k.events = 2
			tree.round()
			k.events = 0
			k.pass()
		}
		// The last look is at a tree that stands still: no event is lost because it was too late to be seen.
		k.events = 0
		tree.round()
		if got := tree.cpu(); got != k.truth {
			t.Fatalf("counted %d ns, the tree used %d", got, k.truth)
		}
		traffic, err := tree.traffic()
		if err != nil || traffic != k.traffic {
			t.Fatalf("counted %+v, the tree moved %+v (%v)", traffic, k.traffic, err)
		}
	})
}

func TestNothingIsCountedTwiceWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := newKernel(t, false)
		tree := begin(t, k)
		for range rapid.IntRange(1, 8).Draw(t, "rounds") {
			k.events = 3
			tree.round()
			if got := tree.cpu(); got > k.truth || got < 0 {
				t.Fatalf("counted %d ns, the tree used %d", got, k.truth)
			}
			traffic, err := tree.traffic()
			if err != nil || traffic != traffic.atMost(k.traffic) || traffic.read < 0 || traffic.written < 0 {
				t.Fatalf("counted %+v, the tree moved %+v (%v)", traffic, k.traffic, err)
			}
		}
	})
}

// table is a fixed process table.
type table struct {
	procs map[int]status
	disks map[int]disk
	fail  map[int]error
}

func (s *table) status(pid int) (status, error) {
	if p, ok := s.procs[pid]; ok {
		return p, nil
	}
	return status{}, errGone
}
func (s *table) disk(pid int) (disk, error) { return s.disks[pid], s.fail[pid] }
func (s *table) ticks() uint64              { return 1000 }
func (s *table) children(pid, _ int) []int {
	var found []int
	for c, p := range s.procs {
		if p.parent == pid {
			found = append(found, c)
		}
	}
	slices.Sort(found)
	return found
}

func TestAReusedIdIsAnotherProcess(t *testing.T) {
	s := &table{procs: map[int]status{10: {parent: 1, started: 5, cpu: 100}, 11: {parent: 10, started: 6, cpu: 50}}, disks: map[int]disk{}}
	tree, err := newTree(s, 10, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	// The child ended, was reaped, and its id belongs to a stranger now.
	s.procs[10] = status{parent: 1, started: 5, cpu: 110, reaped: 60}
	s.procs[11] = status{parent: 1, started: 2000, cpu: 1_000_000}
	tree.round()
	if got := tree.cpu(); got != 20 {
		t.Errorf("counted %d, want the root's 10 and the child's last 10", got)
	}
	// So does the root's.
	s.procs[10] = status{parent: 1, started: 3000, cpu: 5_000_000}
	tree.round()
	if got := tree.cpu(); got != 20 || !tree.ended() {
		t.Errorf("counted %d, ended %t", got, tree.ended())
	}
}

func TestAProcessOlderThanTheStartCountsFromWhenItJoins(t *testing.T) {
	s := &table{procs: map[int]status{10: {parent: 1, started: 5}, 11: {parent: 1, started: 6, cpu: 500}}, disks: map[int]disk{11: {7, 7}}}
	tree, err := newTree(s, 10, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	s.procs[11] = status{parent: 10, started: 6, cpu: 510}
	tree.round()
	s.procs[11], s.disks[11] = status{parent: 10, started: 6, cpu: 530}, disk{9, 10}
	tree.round()
	if got := tree.cpu(); got != 20 {
		t.Errorf("counted %d, want 20", got)
	}
	if got, err := tree.traffic(); err != nil || got != (disk{2, 3}) {
		t.Errorf("counted %+v, %v", got, err)
	}
}

func TestOneUnreadableProcessMakesTheTrafficUnknown(t *testing.T) {
	s := &table{procs: map[int]status{10: {parent: 1, started: 5}}, disks: map[int]disk{10: {1, 1}}, fail: map[int]error{}}
	tree, err := newTree(s, 10, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tree.traffic(); err != nil {
		t.Fatal(err)
	}
	s.procs[11], s.fail[11] = status{parent: 10, started: 2000}, errors.New("permission denied")
	tree.round()
	if d, err := tree.traffic(); err == nil || err.Error() != "process 11: permission denied" {
		t.Errorf("told %+v, %v", d, err)
	}
	if tree.most != 2 {
		t.Errorf("%d processes at most, want 2", tree.most)
	}
}

func TestARootThatIsNotThere(t *testing.T) {
	if _, err := newTree(&table{}, 10, nil, false); !errors.Is(err, errGone) {
		t.Errorf("error is %v", err)
	}
}

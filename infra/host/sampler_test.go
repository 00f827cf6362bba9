package host

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeMachine is a process table in which some things cannot be read.
type fakeMachine struct {
	table
	pss, rss       int64
	noPSS, noRSS   error
	proportionally int // how often the proportional size was asked for
}

func (m *fakeMachine) proportional([]int) (int64, error) { m.proportionally++; return m.pss, m.noPSS }
func (m *fakeMachine) residentOf([]int) (int64, error)   { return m.rss, m.noRSS }

func newFakeMachine() *fakeMachine {
	return &fakeMachine{table: table{procs: map[int]status{10: {parent: 1, started: 5, cpu: time.Second}}, disks: map[int]disk{10: {100, 200}}, fail: map[int]error{}}, pss: 1 << 20, rss: 2 << 20}
}

// sampled runs a Sampler over a fake machine, on which change happens between Start and Stop.
func sampled(m *fakeMachine, change func()) *Sampler {
	s := &Sampler{pid: 10, exclude: map[int]bool{}, machine: m}
	s.start()
	if change != nil {
		s.stopWith(change)
	}
	return s
}

// stopWith pauses the looks while the machine changes, so that there is no race with them.
func (s *Sampler) stopWith(change func()) {
	close(s.stop)
	<-s.done
	change()
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go s.run()
}

func TestFiguresAreDifferences(t *testing.T) {
	m := newFakeMachine()
	s := sampled(m, func() {
		time.Sleep(20 * time.Millisecond)
		m.procs[10] = status{parent: 1, started: 5, cpu: time.Second + 10*time.Millisecond}
		m.disks[10] = disk{107, 203}
		m.pss = 3 << 20
	})
	u, note := s.Stop()
	if note != "" || *u.CPUSeconds != 0.01 || *u.CPUCores > 0.5 || *u.ReadBytes != 7 || *u.WrittenBytes != 3 {
		t.Errorf("%+v, %q", u, note)
	}
	if *u.MemoryPeak != 3<<20 || *u.MemoryMean <= 1<<20 || *u.MemoryMean >= 3<<20 || u.MemoryKind != "pss" {
		t.Errorf("memory: mean %d, peak %d, %s", *u.MemoryMean, *u.MemoryPeak, u.MemoryKind)
	}
}

func TestUnreadableIsAbsentWithItsReason(t *testing.T) {
	m := newFakeMachine()
	m.noPSS, m.noRSS, m.fail[10] = errors.New("process 10: permission denied"), errors.New("process 10: no status"), errors.New("permission denied")
	u, note := sampled(m, nil).Stop()
	if u.MemoryMean != nil || u.MemoryPeak != nil || u.MemoryKind != "" || u.ReadBytes != nil || u.WrittenBytes != nil {
		t.Errorf("something was told: %+v", u)
	}
	if diff := cmp.Diff([]string{"memory: process 10: no status", "disk: process 10: permission denied"}, u.Missing); diff != "" {
		t.Error(diff)
	}
	if u.CPUSeconds == nil || !strings.Contains(note, "proportional ones cannot be read (process 10: permission denied)") {
		t.Errorf("%+v, %q", u, note)
	}
}

func TestMemoryFallsBackForTheWholeSeries(t *testing.T) {
	m := newFakeMachine()
	s := sampled(m, func() { m.noPSS = errors.New("process 11: permission denied") })
	u, note := s.Stop()
	if u.MemoryKind != "rss" || *u.MemoryPeak != 2<<20 || *u.MemoryMean != 2<<20 {
		t.Errorf("%s, peak %d, mean %d", u.MemoryKind, *u.MemoryPeak, *u.MemoryMean)
	}
	if !strings.Contains(note, "estimated from resident set sizes") || !strings.Contains(note, "process 11: permission denied") {
		t.Errorf("note is %q", note)
	}
	if m.proportionally > 3 {
		t.Errorf("asked %d times for what cannot be read", m.proportionally)
	}
}

func TestWhatARootLeavesRunningIsCountedOn(t *testing.T) {
	m := newFakeMachine()
	m.procs[11] = status{parent: 10, started: 6}
	s := sampled(m, func() {
		delete(m.procs, 10)
		m.procs[11] = status{parent: 1, started: 6, cpu: 5 * time.Millisecond}
	})
	u, note := s.Stop()
	if *u.CPUSeconds != 0.005 || !strings.Contains(note, "what it left running is counted to the end") {
		t.Errorf("%+v, %q", u, note)
	}
}

func TestAProcessThatEndsAtOnce(t *testing.T) {
	m := newFakeMachine()
	u, note := sampled(m, func() { delete(m.procs, 10) }).Stop()
	if u == nil || !strings.Contains(note, "process 10 ended at") {
		t.Fatalf("%+v, %q", u, note)
	}
	if u.CPUCores != nil && *u.CPUCores != 0 {
		t.Errorf("%g cores", *u.CPUCores)
	}
}

func TestMemoryMeanIsOverTime(t *testing.T) {
	var m memory
	start := time.Now()
	// 1,000 bytes for 9 s, then a rise to 3,000 in one more: samples at uneven times must not weigh the same.
	for _, s := range []struct {
		at   time.Duration
		held int64
	}{{0, 1000}, {time.Second, 1000}, {9 * time.Second, 1000}, {10 * time.Second, 3000}, {11 * time.Second, 0}} {
		m.add(start.Add(s.at), s.held)
	}
	if mean, peak, err := m.figures(); err != nil || mean != 1100 || peak != 3000 {
		t.Errorf("mean %d, peak %d, %v", mean, peak, err)
	}
	if _, _, err := new(memory).figures(); err == nil {
		t.Error("no samples have a mean")
	}
}

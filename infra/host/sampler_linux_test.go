package host

import (
	"errors"
	"math"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/infra/ci"
)

// wantCPU compares the CPU time that was sampled with the processes' own account of it. Wall time would make the test depend on how busy
// the machine is.
func wantCPU(t *testing.T, u *result.Usage, note string, used time.Duration) {
	t.Helper()
	if u == nil || u.CPUSeconds == nil || u.CPUCores == nil {
		t.Fatalf("no CPU time: %+v, %q", u, note)
	}
	if off := math.Abs(*u.CPUSeconds - used.Seconds()); off > 0.15*used.Seconds() {
		t.Errorf("sampled %.3f s of CPU time, the processes say %.3f", *u.CPUSeconds, used.Seconds())
	}
}

func TestABusyLoopIsOneCore(t *testing.T) {
	c := startChild(t, "burn")
	begun := time.Now()
	s := Start(c.pid())
	used := c.ask(600)
	wall := time.Since(begun)
	u, note := s.Stop()
	wantCPU(t, u, note, used.CPU)
	if want := used.CPU.Seconds() / wall.Seconds(); math.Abs(*u.CPUCores-want) > 0.15 || *u.CPUCores > 1.05 {
		t.Errorf("%.3f cores, want %.3f and at most one", *u.CPUCores, want)
	}
	if u.Processes != 1 || note != "" || len(u.Missing) != 0 {
		t.Errorf("%d processes, note %q, missing %q", u.Processes, note, u.Missing)
	}
	if again, _ := s.Stop(); again != u {
		t.Error("stopping again gave something else")
	}
}

func TestParallelChildrenAreCountedOnce(t *testing.T) {
	c := startChild(t, "spawn")
	s := Start(c.pid())
	used := c.ask(3)
	u, note := s.Stop()
	// Some children were seen, all have ended, and their parent has inherited everything.
	wantCPU(t, u, note, used.CPU)
	if used.CPU < 900*time.Millisecond || u.Processes < 2 {
		t.Errorf("the children burned %v and %d processes were seen", used.CPU, u.Processes)
	}
}

func TestAChildThatEndsBetweenLooksIsCounted(t *testing.T) {
	c := startChild(t, "spawn")
	s := Start(c.pid())
	s.stopLooking()
	used := c.ask(1) // came and went unseen
	u, note := s.Stop()
	wantCPU(t, u, note, used.CPU)
	if u.Processes != 1 {
		t.Errorf("%d processes were seen", u.Processes)
	}
}

// stopLooking ends the regular looks, so that only the one of Stop is left.
func (s *Sampler) stopLooking() {
	close(s.stop)
	<-s.done
	s.stop, s.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(s.done)
		<-s.stop
		s.look()
	}()
}

func TestChildrenThatNobodyReapsKeepWhatTheyWereSeenToUse(t *testing.T) {
	reaped := startChild(t, "spawn").ask(2) // what two children use
	c := startChild(t, "spawn-and-forget")
	s := Start(c.pid())
	c.ask(2)
	u, note := s.Stop()
	if u == nil || u.CPUSeconds == nil {
		t.Fatalf("%+v, %q", u, note)
	}
	// What they used after they were last looked at is lost, and nothing counts twice.
	if *u.CPUSeconds < 0.1 || *u.CPUSeconds > 1.3*reaped.CPU.Seconds() {
		t.Errorf("sampled %.3f s of CPU time; when they are reaped, two children use %.3f", *u.CPUSeconds, reaped.CPU.Seconds())
	}
}

func TestMemoryOfAChildThatTouches64MiB(t *testing.T) {
	c := startChild(t, "touch")
	before, _ := func() (*result.Usage, string) { s := Start(c.pid()); return s.Stop() }()
	s := Start(c.pid())
	c.ask(64 << 20)
	u, note := s.Stop()
	if u == nil || u.MemoryPeak == nil || before == nil || before.MemoryPeak == nil {
		t.Fatalf("no memory: %+v, %q", u, note)
	}
	grown := *u.MemoryPeak - *before.MemoryPeak
	if u.MemoryKind != "pss" || grown < 63<<20 || grown > 72<<20 {
		t.Errorf("%s grew by %d MiB", u.MemoryKind, grown>>20)
	}
	if *u.MemoryMean > *u.MemoryPeak || *u.MemoryMean < *before.MemoryPeak {
		t.Errorf("mean %d, peak %d", *u.MemoryMean, *u.MemoryPeak)
	}
}

func TestMemoryAtAMoment(t *testing.T) {
	c := startChild(t, "touch")
	before, note := Memory(c.pid())
	if before == nil || note != "" {
		t.Fatalf("no memory: %+v, %q", before, note)
	}
	c.ask(64 << 20)
	after, _ := Memory(c.pid())
	if grown := after.Bytes - before.Bytes; after.Kind != "pss" || grown < 63<<20 || grown > 72<<20 {
		t.Errorf("%s grew by %d MiB", after.Kind, grown>>20)
	}
	if held, note := Memory(c.pid(), Exclude(c.pid())); held != nil || note == "" {
		t.Errorf("of nothing: %+v, %q", held, note)
	}
}

func TestDiskOfAChildThatFlushes(t *testing.T) {
	c := startChild(t, "write")
	s := Start(c.pid())
	// In the package's own directory: a temporary directory may be in memory, where nothing reaches a disk.
	dir, err := os.MkdirTemp(".", "testdata-io-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	used := c.ask(dir)
	u, note := s.Stop()
	if u == nil || u.WrittenBytes == nil || u.ReadBytes == nil {
		t.Fatalf("no disk traffic: %+v, %q", u, note)
	}
	if used.Written == 0 {
		ci.Need(t, errors.New("the filesystem of the package accounts for no writes"))
	}
	// Metadata is written too.
	if *u.WrittenBytes < 8<<20 || *u.WrittenBytes > 12<<20 {
		t.Errorf("%d bytes written, the process says %d", *u.WrittenBytes, used.Written)
	}
	if *u.ReadBytes > 1<<20 {
		t.Errorf("%d bytes read by a process that only writes", *u.ReadBytes)
	}
}

func TestAVanishedProcessKeepsItsValuesAndSaysSo(t *testing.T) {
	c := startChild(t, "burn")
	s := Start(c.pid())
	used := c.ask(400)
	time.Sleep(lookEvery + 100*time.Millisecond)
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2*lookEvery + 100*time.Millisecond)
	u, note := s.Stop()
	wantCPU(t, u, note, used.CPU)
	if !regexp.MustCompile(`^process \d+ ended at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d UTC or just before; the figures are of the time until then$`).MatchString(note) {
		t.Errorf("note is %q", note)
	}
	if u.MemoryPeak == nil || u.WrittenBytes == nil || len(u.Missing) != 0 {
		t.Errorf("%+v", u)
	}
}

func TestAProcessThatIsNotThere(t *testing.T) {
	c := startChild(t, "sleep")
	pid := c.pid()
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		sampler *Sampler
		want    string
	}{
		{Start(pid), "is not there, or this user may not see it"},
		{Start(0), "no process is known"},
		{Start(-1), "no process is known"},
		{Start(os.Getpid(), Exclude(os.Getpid())), "left out at once"},
	} {
		if u, note := tc.sampler.Stop(); u != nil || !strings.Contains(note, tc.want) {
			t.Errorf("%+v, %q; want no usage and %q", u, note, tc.want)
		}
	}
}

func TestTheAgentIsLeftOutOfAServersTree(t *testing.T) {
	agent := startChild(t, "burn")
	s := Start(os.Getpid(), Exclude(agent.pid())) // this process stands for a server above the agent
	used := agent.ask(500)
	u, note := s.Stop()
	if u == nil || u.CPUSeconds == nil {
		t.Fatalf("%+v, %q", u, note)
	}
	if *u.CPUSeconds > used.CPU.Seconds()/2 {
		t.Errorf("%.3f s, with the agent's %.3f", *u.CPUSeconds, used.CPU.Seconds())
	}
	self := StartSelf()
	used = agent.ask(500)
	if u, note := self.Stop(); u == nil || u.Processes != 1 || *u.CPUSeconds > used.CPU.Seconds()/2 {
		t.Errorf("this process alone: %+v, %q", u, note)
	}
}

func TestTheAgentMeasuresItself(t *testing.T) {
	s := StartSelf()
	before := selfAccount().CPU
	if err := burn("300"); err != nil {
		t.Fatal(err)
	}
	used := selfAccount().CPU - before
	u, note := s.Stop()
	wantCPU(t, u, note, used)
	if u.MemoryPeak == nil || u.ReadBytes == nil || note != "" {
		t.Errorf("%+v, %q", u, note)
	}
}

func TestBothWaysToFindChildrenAgree(t *testing.T) {
	c := startChild(t, "sleep")
	listing, searching := newProcFS(), newProcFS()
	searching.listed = false
	if !listing.listed {
		ci.Need(t, errors.New("this kernel does not list children"))
	}
	s, err := listing.status(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]*procFS{"listed": listing, "searched": searching} {
		found := false
		for _, pid := range p.children(os.Getpid(), s.threads) {
			found = found || pid == c.pid()
		}
		if !found {
			t.Errorf("child %d is not found when children are %s", c.pid(), name)
		}
	}
}

func TestStatAgreesWithProcfs(t *testing.T) {
	p := newProcFS()
	process, err := procfs.NewProc(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	want, err := process.Stat()
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.status(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if got.parent != want.PPID || got.started != want.Starttime || got.zombie {
		t.Errorf("%+v, procfs says parent %d, started %d", got, want.PPID, want.Starttime)
	}
	if off := math.Abs(got.cpu.Seconds() - want.CPUTime()); off > 0.05 {
		t.Errorf("CPU time %v, procfs says %.2f s", got.cpu, want.CPUTime())
	}
	private, shared, err := p.resident(os.Getpid())
	if err != nil || math.Abs(float64(private+shared)-float64(want.ResidentMemory())) > 8<<20 {
		t.Errorf("resident %d, procfs says %d, %v", private+shared, want.ResidentMemory(), err)
	}
	pss, err := p.proportional([]int{os.Getpid()})
	if err != nil || pss <= 0 || pss > private+shared+1<<20 {
		t.Errorf("proportional %d of resident %d, %v", pss, private+shared, err)
	}
}

func TestParseStatOfAwkwardNames(t *testing.T) {
	p := &procFS{}
	const tail = " S 7 1 1 0 -1 4194304 1 2 3 4 150 50 30 20 20 0 9 0 80296 3133440 358"
	for _, name := range []string{"cat", "a b", "a) S 1 (b", ""} {
		s, own, err := p.parseStat([]byte("42 (" + name + ")" + tail + "\n"))
		want := status{parent: 7, started: 80296, reaped: 500 * time.Millisecond, threads: 9}
		if err != nil || s != want || own != 2*time.Second {
			t.Errorf("%q: %+v, %v, %v", name, s, own, err)
		}
	}
	for _, text := range []string{"", "42 cat S 7", "42 (cat) S 7 1", "42 (cat)" + strings.Replace(tail, "150", "x", 1)} {
		if s, _, err := p.parseStat([]byte(text)); err == nil {
			t.Errorf("%q was read as %+v", text, s)
		}
	}
}

func BenchmarkStatus(b *testing.B) {
	b.Run("own", func(b *testing.B) {
		b.ReportAllocs()
		p := newProcFS()
		for b.Loop() {
			if _, err := p.status(os.Getpid()); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("procfs", func(b *testing.B) {
		b.ReportAllocs()
		process, err := procfs.NewProc(os.Getpid())
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := process.Stat(); err != nil {
				b.Fatal(err)
			}
		}
	})
}

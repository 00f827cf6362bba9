package vector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/vector/tile"
)

// slow is a problem with many checkpoints.
func slow(t *testing.T) (Problem, Options) {
	c := mustCorpus(t, 9, "vector:64:clustered:20")
	p := problem(t, c, query.Euclidean, 10_000, 10, 100)
	p.Filters = []*query.Predicate{nil, bound(t, c, number(query.Lt, 10))}
	return p, Options{block: 200, every: time.Nanosecond, Workers: 2}
}

// TestMain also is the process that other tests start: with a directory in the environment it computes the slow problem there, and kills itself when it has
// looked at so many rows.
func TestMain(m *testing.M) {
	if dir := os.Getenv("DURABENCH_TRUTH_DIR"); dir != "" {
		t := &testing.T{}
		p, o := slow(t)
		o.Dir = dir
		if last, err := strconv.ParseUint(os.Getenv("DURABENCH_TRUTH_LAST"), 10, 64); err == nil {
			o.Say = func(done, of uint64) {
				if done >= last {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
			}
		}
		if _, err := Compute(context.Background(), p, o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child starts a process that computes the slow problem.
func child(t *testing.T, dir string, environment ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), "DURABENCH_TRUTH_DIR="+dir), environment...)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	return cmd
}

// files returns how many files of the name's end there are.
func files(t *testing.T, dir, end string) int {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"+end))
	require.NoError(t, err)
	return len(found)
}

func encoded(t *testing.T, truth *Truth) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, truth.Write(&b))
	return b.Bytes()
}

// A process that is killed twice leaves checkpoints from which the next goes on, to the very same answer.
func TestComputeGoesOnAfterAKill(t *testing.T) {
	p, o := slow(t)
	want, err := Compute(context.Background(), p, o)
	require.NoError(t, err)
	dir := t.TempDir()
	store, reached := place{dir, p.Digest()}, uint64(0)
	for _, last := range []string{"3000", "7000"} {
		err := child(t, dir, "DURABENCH_TRUTH_LAST="+last).Wait()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
		data, err := os.ReadFile(store.path(".part"))
		require.NoError(t, err)
		_, done, err := decode(data)
		require.NoError(t, err)
		require.Greater(t, done, reached, "it has not gone on")
		reached = done
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".tmp-truth-"+p.Digest()+".part123"), []byte("half"), 0o644)) // as a kill may leave it
	var first uint64
	o.Dir, o.Say = dir, func(done, of uint64) {
		if first == 0 {
			first = done
		}
	}
	got, err := Compute(context.Background(), p, o)
	require.NoError(t, err)
	require.Greater(t, first, reached, "it began from the start")
	require.True(t, bytes.Equal(encoded(t, want), encoded(t, got)))
	require.Equal(t, 0, files(t, dir, ".part"), "the checkpoint is left behind")
	require.Empty(t, halves(t, dir), "half a file is left behind")
}

// What has been computed is found, and two who want the same thing at once do not both compute it.
func TestTwoWritersGetOneTruth(t *testing.T) {
	dir := t.TempDir()
	one, other := child(t, dir), child(t, dir)
	p, o := slow(t)
	o.Dir = dir
	var looked sync.Map
	var running sync.WaitGroup
	truths := make([]*Truth, 3)
	for i := range truths {
		running.Go(func() {
			o := o
			o.Say = func(done, of uint64) { looked.Store(i, done) }
			var err error
			truths[i], err = Compute(context.Background(), p, o)
			require.NoError(t, err)
		})
	}
	running.Wait()
	require.NoError(t, one.Wait())
	require.NoError(t, other.Wait())
	count := 0
	looked.Range(func(any, any) bool { count++; return true })
	require.LessOrEqual(t, count, 1, "more than one has looked at rows")
	for _, truth := range truths {
		require.True(t, bytes.Equal(encoded(t, truths[0]), encoded(t, truth)))
	}
	require.Equal(t, 1, files(t, dir, ".nn"))
	require.Empty(t, halves(t, dir))
}

func TestACancelledComputeGoesOnLater(t *testing.T) {
	p, o := slow(t)
	want, err := Compute(context.Background(), p, o)
	require.NoError(t, err)
	o.Dir = t.TempDir()
	stop := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	o.Say = func(done, of uint64) {
		if done > of/2 {
			cancel(stop)
		}
	}
	_, err = Compute(ctx, p, o)
	require.ErrorIs(t, err, stop)
	var first uint64
	o.Say = func(done, of uint64) {
		if first == 0 {
			first = done
		}
	}
	got, err := Compute(context.Background(), p, o)
	require.NoError(t, err)
	require.Greater(t, first, uint64(200), "it began from the start")
	require.Equal(t, want, got)
}

// A band that is too long to be listed is still counted right after an interruption.
func TestLongBandsGoOn(t *testing.T) {
	p := problem(t, mustCorpus(t, 1, "vector:4:clustered:2:0"), query.Cosine, 5000, 3, 5)
	want, err := Compute(context.Background(), p, Options{})
	require.NoError(t, err)
	require.Greater(t, want.Answers[0].Band[0], int64(2*bandLimit))
	o := Options{Dir: t.TempDir(), block: 500, every: time.Nanosecond, Workers: 1}
	ctx, cancel := context.WithCancel(context.Background())
	o.Say = func(done, of uint64) {
		if done > of*3/4 {
			cancel()
		}
	}
	_, err = Compute(ctx, p, o)
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, 1, files(t, o.Dir, ".part"))
	o.Say = nil
	got, err := Compute(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// Who waits for another's truth can be told to stop.
func TestWaitingCanBeCancelled(t *testing.T) {
	p, o := slow(t)
	o.Dir = t.TempDir()
	unlock, err := place{o.Dir, p.Digest()}.lock(context.Background())
	require.NoError(t, err)
	defer unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = Compute(ctx, p, o)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// A damaged file is as good as none, wherever the damage is.
func TestDamagedFilesAreNotBelieved(t *testing.T) {
	c := mustCorpus(t, 1, "vector:8")
	p := problem(t, c, query.Cosine, 2000, 3, 5)
	o := Options{Dir: t.TempDir(), block: 100, every: time.Nanosecond}
	want, err := Compute(context.Background(), p, o)
	require.NoError(t, err)
	store := place{o.Dir, p.Digest()}
	whole, err := os.ReadFile(store.path(".nn"))
	require.NoError(t, err)
	for _, i := range []int{0, 20, len(magic) + 3, len(whole) / 2, len(whole) - 1} {
		for name, damaged := range map[string][]byte{"cut": whole[:i], "changed": append(append(bytes.Clone(whole[:i]), whole[i]^1), whole[i+1:]...)} {
			_, err := ReadTruth(bytes.NewReader(damaged))
			require.Error(t, err, "%s at %d", name, i)
			require.NoError(t, os.WriteFile(store.path(".nn"), damaged, 0o644))
			require.NoError(t, os.WriteFile(store.path(".part"), damaged, 0o644))
			got, err := Compute(context.Background(), p, o)
			require.NoError(t, err)
			require.Equal(t, want, got, "%s at %d", name, i)
		}
	}
	checkpoint := encode(want, 1000)
	_, err = ReadTruth(bytes.NewReader(checkpoint))
	require.ErrorContains(t, err, "1000 rows of 2000")
	require.NoError(t, os.WriteFile(store.path(".nn"), checkpoint, 0o644))
	_, err = store.truth()
	require.ErrorIs(t, err, errNotThere)
}

// Each thing that decides the answer has a digest of its own, and the digest of a problem stays the same in later versions.
func TestDigestTellsProblemsApart(t *testing.T) {
	c := mustCorpus(t, 1, "vector:3")
	p := problem(t, c, query.Cosine, 10, 2, 2)
	require.Equal(t, "61ae8ad15ba26be434359d98e1a2428fbc3541a714b6e1b19a158c377be16ce7", p.Digest(), "raise algorithm when truths change their meaning")
	seen := map[string]string{p.Digest(): "itself"}
	for name, change := range map[string]func(p *Problem){
		"rows":    func(p *Problem) { p.Rows++ },
		"version": func(p *Problem) { p.Version++ },
		"metric":  func(p *Problem) { p.Metric = query.Euclidean },
		"k":       func(p *Problem) { p.K++ },
		"filter":  func(p *Problem) { p.Filters = []*query.Predicate{bound(t, c, number(query.Lt, 3))} },
		"other":   func(p *Problem) { p.Filters = []*query.Predicate{bound(t, c, number(query.Lt, 4))} },
		"both":    func(p *Problem) { p.Filters = []*query.Predicate{nil, bound(t, c, number(query.Lt, 4))} },
		"queries": func(p *Problem) { p.Queries = p.Queries[:1] },
		"corpus":  func(p *Problem) { p.Corpus = mustCorpus(t, 2, "vector:3") },
		"a bit": func(p *Problem) {
			p.Queries = [][]float32{append([]float32{p.Queries[0][0] + 1e-6}, p.Queries[0][1:]...), p.Queries[1]}
		},
	} {
		other := p
		change(&other)
		require.Empty(t, seen[other.Digest()], name)
		seen[other.Digest()] = name
	}
	same := p
	same.Filters = []*query.Predicate{nil}
	require.Equal(t, p.Digest(), same.Digest())
}

// All that is wrong is told before a row is looked at.
func TestProblemsWithoutAnswerAreRefused(t *testing.T) {
	c := mustCorpus(t, 1, "vector:3")
	good := problem(t, c, query.Cosine, 10, 2, 2)
	for want, change := range map[string]func(p *Problem){
		"no corpus":                       func(p *Problem) { p.Corpus = nil },
		"did you mean v":                  func(p *Problem) { p.Field = query.Path{"w"} },
		"number holds no vectors":         func(p *Problem) { p.Field = query.Path{"number"} },
		"no metric \"hamming\"":           func(p *Problem) { p.Metric = "hamming" },
		"k must be positive":              func(p *Problem) { p.K = 0 },
		"no rows":                         func(p *Problem) { p.Rows = 0 },
		"no query vectors":                func(p *Problem) { p.Queries = nil },
		"query 1 has 2 components":        func(p *Problem) { p.Queries = [][]float32{{1, 2, 3}, {1, 2}} },
		"query 0 has a component that is": func(p *Problem) { p.Queries = [][]float32{{1, 2, float32(math.Inf(1))}} },
	} {
		bad := good
		change(&bad)
		_, err := Compute(context.Background(), bad, Options{})
		require.ErrorContains(t, err, want)
	}
	_, err := Compute(context.Background(), good, Options{Memory: 1000})
	require.ErrorContains(t, err, "allow more")
	_, err = Queries(c, query.Path{"v"}, 1, 0)
	require.ErrorContains(t, err, "must be positive")
	_, err = Queries(c, query.Path{"status"}, 1, 1)
	require.ErrorContains(t, err, "status holds no vectors")
}

func TestLessMemoryMeansFewerWorkers(t *testing.T) {
	p := problem(t, mustCorpus(t, 1, "vector:64"), query.Cosine, 5000, 10, 100)
	column, err := p.check()
	require.NoError(t, err)
	o := Options{Workers: 64, Memory: 4 << 20}
	want, err := Compute(context.Background(), p, Options{})
	require.NoError(t, err)
	got, err := Compute(context.Background(), p, o)
	require.NoError(t, err)
	require.Equal(t, want, got)
	o.Kernel = tile.Kernels()[0]
	s, err := newSweep(p, column, "", o)
	require.NoError(t, err)
	require.Less(t, s.o.Workers, 64)
	require.Positive(t, s.o.Workers)
}

// halves are the files in the directory that somebody has begun to write.
func halves(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, ".tmp-*"))
	require.NoError(t, err)
	return found
}

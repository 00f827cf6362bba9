package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	"github.com/durabench/durabench/drivers/drivertest"
	"github.com/durabench/durabench/infra/ci"
)

// otherWords tells of the letters that FTS5 has rules of its own for.
func otherWords(text string) string {
	switch {
	case strings.ContainsAny(text, "Σσς"):
		return "FTS5 takes ς for σ"
	case strings.ContainsFunc(text, func(r rune) bool { return r >= 0x300 && r <= 0x331 }):
		return "FTS5 takes an accent that is a character of its own for a part of the word"
	}
	return ""
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Harness{
		Engine: engine,
		Configure: func(t *testing.T, config *drivers.Config) {
			if config.Tier == drivers.TierOS {
				config.Dir = onDisk(t)
			}
		},
		Refuses:    refuses,
		OtherWords: otherWords,
		Stall: func(t *testing.T, config drivers.Config) func() {
			foreign, err := openConnection(filepath.Join(config.Dir, fileName))
			drivertest.Must(t, err)
			drivertest.Must(t, foreign.execute("BEGIN IMMEDIATE"))
			return func() {
				drivertest.Must(t, foreign.execute("ROLLBACK"))
				drivertest.Must(t, foreign.close())
			}
		},
	})
}

// refuses tells that a scan looks for words, which needs an index, or compares bytes that lie in JSON in base 64.
func refuses(s *query.Scan) bool {
	for _, path := range append([]query.Path{s.GroupBy}, orders(s)...) {
		if writable(path) != nil || len(path) > 1 && path[len(path)-1] == "blob" {
			return true
		}
	}
	return can(s.Where) != nil || matches(s.Where)
}

func orders(s *query.Scan) (paths []query.Path) {
	for _, o := range s.Order {
		paths = append(paths, o.Path)
	}
	return paths
}

var value = map[string]any{
	"active": "bool", "age": "int:0..120", "balance": "decimal", "city": "string_enum:london,paris,tokyo", "created": "datetime",
	"name": "string:5..20", "ratio": "float:0..1", "tags": []any{"string:4", "string:4"}, "text": "text:700..800", "token": "uuid",
}

func makeCorpus(tb testing.TB, kind corpus.KeyKind) *corpus.Corpus {
	tb.Helper()
	template, err := corpus.ParseTemplate(value)
	drivertest.Must(tb, err)
	c, err := corpus.New(1, template, kind, true)
	drivertest.Must(tb, err)
	return c
}

func configOf(tb testing.TB, kind corpus.KeyKind) drivers.Config {
	tb.Helper()
	return drivers.Config{
		Dir: tb.TempDir(), Clients: 1, Threads: 1, Tier: drivers.TierProcess, Corpus: makeCorpus(tb, kind), Logger: slog.New(slog.DiscardHandler),
	}
}

// onDisk is a directory that is not in memory: among the temporary files, or else beside the package.
func onDisk(tb testing.TB) string {
	tb.Helper()
	dir := tb.TempDir()
	if !filesystemOf(dir).volatile {
		return dir
	}
	dir, err := os.MkdirTemp(".", "test-")
	drivertest.Must(tb, err)
	tb.Cleanup(func() { _ = os.RemoveAll(dir) })
	if filesystemOf(dir).volatile {
		ci.Need(tb, errors.New("neither temporary files nor the package are on a disk: set TMPDIR"))
	}
	return dir
}

func openIt(tb testing.TB, config drivers.Config) (*database, drivers.Client) {
	tb.Helper()
	opened, err := engine.Open(tb.Context(), config)
	drivertest.Must(tb, err)
	drivertest.Must(tb, opened.Prepare(tb.Context()))
	client, err := opened.Client(tb.Context(), 0)
	drivertest.Must(tb, err)
	tb.Cleanup(func() {
		client.Close()
		opened.Close()
	})
	return opened.(*database), client
}

func TestTierNoneIsRefusedWithWhatIsPossible(t *testing.T) {
	config := configOf(t, corpus.KeyInteger)
	config.Tier = drivers.TierNone
	_, err := engine.Open(t.Context(), config)
	if err == nil || !strings.Contains(err.Error(), "--sync") {
		t.Errorf("open at tier none: error %v, which does not say what is possible", err)
	}
}

func TestTierOSIsRefusedInMemory(t *testing.T) {
	const memory = "/dev/shm"
	if !filesystemOf(memory).volatile {
		ci.Need(t, errors.New("no file system in memory at "+memory))
	}
	dir, err := os.MkdirTemp(memory, "durabench-test-")
	drivertest.Must(t, err)
	defer os.RemoveAll(dir)
	config := configOf(t, corpus.KeyInteger)
	config.Dir, config.Tier = dir, drivers.TierOS
	if _, err := engine.Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), "tmpfs") {
		t.Errorf("open at tier os in memory: error %v, want one that names the file system", err)
	}
}

// A setting that someone else has changed must show in the tier that is read back.
func TestTierIsWhatTheConnectionSays(t *testing.T) {
	config := configOf(t, corpus.KeyInteger)
	config.Dir, config.Tier = onDisk(t), drivers.TierOS
	d, _ := openIt(t, config)
	drivertest.Must(t, d.writer.on.execute("PRAGMA synchronous=NORMAL"))
	settings, err := d.Settings(t.Context())
	drivertest.Must(t, err)
	if settings.Tier != drivers.TierProcess || settings.Require(drivers.TierOS) == nil {
		t.Errorf("with synchronous=NORMAL the tier read back is %q, want %q", settings.Tier, drivers.TierProcess)
	}
}

func TestSettingsAreWhatTheProfileAsksFor(t *testing.T) {
	config := configOf(t, corpus.KeyInteger)
	config.Profile.Optimised, config.Resources.MemoryBytes, config.Threads = true, 8<<30, 3
	d, _ := openIt(t, config)
	settings, err := d.Settings(t.Context())
	drivertest.Must(t, err)
	got := make(map[string]string)
	for _, setting := range settings.Values {
		got[setting.Name] = setting.Value
	}
	for name, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "1", "cache_size": "-524288", "reader.cache_size": "-524288", "reader.mmap_size": "2147418112",
		"wal_autocheckpoint": "10000", "reader.query_only": "1", "library": library, "readers": "3",
	} {
		if got[name] != want {
			t.Errorf("setting %s is %q, want %q", name, got[name], want)
		}
	}
}

func TestReadersAreOneForEachThreadUpToABound(t *testing.T) {
	most := max(64, 4*runtime.GOMAXPROCS(0))
	for _, test := range []struct {
		clients, threads int
		option           string
		want             int
	}{{1, 1, "", 1}, {4, 8, "", 8}, {1, 10 * most, "", most}, {most / 2, 48, "", 2}, {2 * most, 48, "", 1}, {4, 8, "3", 3}} {
		config := drivers.Config{Clients: test.clients, Threads: test.threads}
		if test.option != "" {
			config.Options = map[string]string{optionReaders: test.option}
		}
		if got := readersEach(config); got != test.want {
			t.Errorf("%d clients with %d threads, option %q: %d readers each, want %d", test.clients, test.threads, test.option, got, test.want)
		}
	}
	for value, good := range map[string]bool{"auto": true, "1": true, "1024": true, "0": false, "1025": false, "many": false, "": false} {
		if problems := engine.CheckOptions(map[string]string{optionReaders: value}); (len(problems) == 0) != good {
			t.Errorf("readers = %q: problems %q, want good %v", value, problems, good)
		}
	}
}

// With fewer readers than threads nothing is lost or mixed up.
func TestThreadsShareReaders(t *testing.T) {
	config := configOf(t, corpus.KeyString26)
	config.Threads, config.Options = 16, map[string]string{optionReaders: "2"}
	_, client := openIt(t, config)
	drivertest.Must(t, client.(drivers.Loader).Load(t.Context(), 0, 1000, 0))
	var group sync.WaitGroup
	for range config.Threads {
		group.Go(func() {
			var buffer corpus.KeyBuffer
			var want, got corpus.Row
			var record drivers.Record
			for range 200 {
				index := rand.Uint64N(1000)
				if err := client.Read(t.Context(), config.Corpus.Key(&buffer, index), &record); err != nil {
					t.Errorf("read: %v", err)
					return
				}
				if err := client.Decode(&record, &got); err != nil {
					t.Errorf("decode: %v", err)
					return
				}
				config.Corpus.Row(&want, index, 0)
				if column, wantText, gotText, same := corpus.Diff(config.Corpus.Template(), &want, &got); !same {
					t.Errorf("row %d: column %s: got %s, want %s", index, column, gotText, wantText)
				}
			}
		})
	}
	group.Wait()
}

func TestReadAllocatesNothing(t *testing.T) {
	config := configOf(t, corpus.KeyString26)
	_, client := openIt(t, config)
	drivertest.Must(t, client.(drivers.Loader).Load(t.Context(), 0, 100, 0))
	var buffer corpus.KeyBuffer
	var record drivers.Record
	ctx := t.Context()
	index := uint64(0)
	n := testing.AllocsPerRun(200, func() {
		index = (index + 7) % 100
		drivertest.Must(t, client.Read(ctx, config.Corpus.Key(&buffer, index), &record))
	})
	if n > 0 && strings.Contains(library, "C code") {
		t.Errorf("%v allocations per read, want none", n)
	}
}

// Waiting for a lock of another process ends with an error of its own class, not with a hang.
func TestForeignLockIsAConflict(t *testing.T) {
	t.Parallel() // it waits for as long as the driver does
	config := configOf(t, corpus.KeyInteger)
	d, client := openIt(t, config)
	foreign, err := openConnection(d.path)
	drivertest.Must(t, err)
	defer foreign.close()
	drivertest.Must(t, foreign.execute("BEGIN IMMEDIATE"))
	var row corpus.Row
	config.Corpus.Row(&row, 0, 0)
	start := time.Now()
	err = client.Create(t.Context(), corpus.IntegerKey(1), &row)
	if class := drivers.ErrorClassOf(err); class != drivers.ClassConflict {
		t.Errorf("create under a foreign lock: class %q of %v, want %q", class, err, drivers.ClassConflict)
	}
	if took := time.Since(start); took < busyPatience/2 || took > 3*busyPatience {
		t.Errorf("the lock was waited for during %s, want about %s", took, busyPatience)
	}
	drivertest.Must(t, foreign.execute("ROLLBACK"))
	drivertest.Must(t, client.Create(t.Context(), corpus.IntegerKey(1), &row))
}

func TestDirectoryProblemsAreNamed(t *testing.T) {
	config := configOf(t, corpus.KeyInteger)
	missing := config
	missing.Dir = filepath.Join(config.Dir, "missing")
	if _, err := engine.Open(t.Context(), missing); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), missing.Dir) {
		t.Errorf("missing directory: error %v", err)
	}
	file := config
	file.Dir = filepath.Join(config.Dir, "file")
	drivertest.Must(t, os.WriteFile(file.Dir, nil, 0o600))
	if _, err := engine.Open(t.Context(), file); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("file for a directory: error %v", err)
	}
	text := config
	text.Dir = t.TempDir()
	drivertest.Must(t, os.WriteFile(filepath.Join(text.Dir, fileName), []byte(strings.Repeat("not a database. ", 100)), 0o600))
	if _, err := engine.Open(t.Context(), text); err == nil || !strings.Contains(err.Error(), "remove it") {
		t.Errorf("file that is no database: error %v", err)
	}
	if os.Geteuid() != 0 {
		readOnly := config
		readOnly.Dir = t.TempDir()
		drivertest.Must(t, os.Chmod(readOnly.Dir, 0o500))
		if _, err := engine.Open(t.Context(), readOnly); err == nil || !strings.Contains(err.Error(), "writable") {
			t.Errorf("read-only directory: error %v", err)
		}
	}
}

func TestForeignDatabaseIsLeftAlone(t *testing.T) {
	config := configOf(t, corpus.KeyInteger)
	c, err := openConnection(filepath.Join(config.Dir, fileName))
	drivertest.Must(t, err)
	drivertest.Must(t, c.execute("CREATE TABLE record (precious TEXT); INSERT INTO record VALUES ('data')"))
	drivertest.Must(t, c.close())
	if _, err := engine.Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), "not made") {
		t.Errorf("open of a foreign database: error %v, want a refusal", err)
	}
	c, err = openConnection(filepath.Join(config.Dir, fileName))
	drivertest.Must(t, err)
	defer c.close()
	if text, err := c.text("SELECT precious FROM record"); err != nil || text != "data" {
		t.Errorf("the foreign database holds %q, error %v", text, err)
	}
}

// A full disk is played with SQLite's own limit on the number of pages: the code that comes back is the same.
func TestFullDiskIsNamedAndLosesNothing(t *testing.T) {
	config := configOf(t, corpus.KeyInteger)
	d, client := openIt(t, config)
	drivertest.Must(t, client.(drivers.Loader).Load(t.Context(), 0, 100, 0))
	drivertest.Must(t, d.writer.on.execute("PRAGMA max_page_count=60"))
	err := client.(drivers.Loader).Load(t.Context(), 100, 5000, 0)
	if err == nil || !strings.Contains(err.Error(), "disk is full") || !strings.Contains(err.Error(), "--data-dir") {
		t.Errorf("load on a full disk: error %v, want one that says so and what to do", err)
	}
	drivertest.Must(t, d.writer.on.execute("PRAGMA max_page_count=1000000"))
	if n, err := d.Count(t.Context()); err != nil || n != 100 {
		t.Errorf("after a load that found the disk full there are %d rows, error %v; want the 100 of before", n, err)
	}
	drivertest.Must(t, client.(drivers.Loader).Load(t.Context(), 100, 5000, 0))
}

func TestColumnsThatSQLiteTakesForOneAreRefused(t *testing.T) {
	for _, columns := range []map[string]any{{"name": "int", "Name": "int"}, {"ID": "int"}} {
		template, err := corpus.ParseTemplate(columns)
		if err != nil {
			continue // the corpus refuses it already
		}
		c, err := corpus.New(1, template, corpus.KeyInteger, false)
		drivertest.Must(t, err)
		if _, err := newSchema(c); err == nil || !strings.Contains(err.Error(), "rename") {
			t.Errorf("columns %v: error %v, want a refusal", columns, err)
		}
	}
}

// BenchmarkSQLiteRead is to be seen against BenchmarkBareStatement.
func BenchmarkSQLiteRead(b *testing.B) {
	for _, kind := range []corpus.KeyKind{corpus.KeyInteger, corpus.KeyString26, corpus.KeyUUID} {
		b.Run(string(kind), func(b *testing.B) {
			config := configOf(b, kind)
			_, client := openIt(b, config)
			drivertest.Must(b, client.(drivers.Loader).Load(b.Context(), 0, benchRows, 0))
			var buffer corpus.KeyBuffer
			var record drivers.Record
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				drivertest.Must(b, client.Read(ctx, config.Corpus.Key(&buffer, rand.Uint64N(benchRows)), &record))
			}
		})
	}
}

const benchRows = 50_000

// BenchmarkBareStatement is a prepared statement in a loop: what SQLite takes with nothing around it.
func BenchmarkBareStatement(b *testing.B) {
	config := configOf(b, corpus.KeyInteger)
	d, client := openIt(b, config)
	drivertest.Must(b, client.(drivers.Loader).Load(b.Context(), 0, benchRows, 0))
	r, err := d.openReader()
	drivertest.Must(b, err)
	defer r.close()
	var buffer corpus.KeyBuffer
	var record drivers.Record
	params := []byte(nil)
	b.ReportAllocs()
	for b.Loop() {
		params = appendKey(params[:0], config.Corpus.Key(&buffer, rand.Uint64N(benchRows)))
		if found, err := r.read.fetch(params, &record); !found || err != nil {
			b.Fatal(found, err)
		}
	}
}

// BenchmarkSQLiteParallel is the load as the agent makes it: many threads at once.
func BenchmarkSQLiteParallel(b *testing.B) {
	for _, readers := range []string{"auto", "4", "2"} {
		b.Run("read/readers="+readers, func(b *testing.B) {
			config := configOf(b, corpus.KeyInteger)
			config.Threads, config.Options = 32, map[string]string{optionReaders: readers}
			_, client := openIt(b, config)
			drivertest.Must(b, client.(drivers.Loader).Load(b.Context(), 0, benchRows, 0))
			each(b, config.Threads, func(ctx context.Context, _ int, _ uint64) error {
				var buffer corpus.KeyBuffer
				var record drivers.Record
				return client.Read(ctx, config.Corpus.Key(&buffer, rand.Uint64N(benchRows)), &record)
			})
		})
	}
	for _, tier := range []drivers.Tier{drivers.TierProcess, drivers.TierOS} {
		for _, threads := range []int{1, 32} {
			b.Run(fmt.Sprintf("create/%s/threads=%d", tier, threads), func(b *testing.B) {
				config := configOf(b, corpus.KeyInteger)
				config.Threads, config.Tier = threads, tier
				if tier == drivers.TierOS {
					config.Dir = onDisk(b)
				}
				_, client := openIt(b, config)
				rows := make([]corpus.Row, threads)
				each(b, threads, func(ctx context.Context, thread int, n uint64) error {
					index := n*uint64(threads) + uint64(thread)
					var buffer corpus.KeyBuffer
					config.Corpus.Row(&rows[thread], index, 0)
					return client.Create(ctx, config.Corpus.Key(&buffer, index), &rows[thread])
				})
			})
		}
	}
}

// each shares b.N operations out over threads.
func each(b *testing.B, threads int, do func(ctx context.Context, thread int, n uint64) error) {
	b.ResetTimer()
	var group sync.WaitGroup
	for thread := range threads {
		group.Go(func() {
			for n := range uint64((b.N + threads - 1 - thread) / threads) {
				if err := do(b.Context(), thread, n); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

package query_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/query/querytest"
)

// counted counts what is asked of a cache.
type counted struct {
	query.Cache
	gets, hits, puts int
}

func (c *counted) Get(key string) (*query.Expected, error) {
	c.gets++
	e, err := c.Cache.Get(key)
	if err == nil {
		c.hits++
	}
	return e, err
}

func (c *counted) Put(key string, e *query.Expected) error {
	c.puts++
	return c.Cache.Put(key, e)
}

func TestCacheSparesTheSweep(t *testing.T) {
	d := dataset(t, 2000, corpus.KeyInteger, true)
	where := bind(t, d.Corpus.Template(), compare(query.Eq, "number", integer(3)))
	scans := []*query.Scan{
		{ID: "a", Where: where, Project: query.ID}, {ID: "b", Where: where, Project: query.Count}, {ID: "c", Project: query.Full},
		{ID: "d", Aggregates: []query.Aggregate{{Func: query.Avg, Path: query.Path{"score"}}}, GroupBy: query.Path{"city"}},
	}
	dir := query.Dir(filepath.Join(t.TempDir(), "not", "there", "yet"))
	cache := &counted{Cache: dir}
	first := mustExpect(t, d, scans, query.Options{Cache: cache})
	if cache.hits != 0 || cache.puts != 3 {
		t.Errorf("the first time %d of %d were in the cache and %d were put", cache.hits, cache.gets, cache.puts)
	}
	swept := false
	again := mustExpect(t, d, scans, query.Options{Cache: cache, Progress: func(uint64) { swept = true }})
	if cache.hits != 3 || cache.puts != 3 || swept {
		t.Errorf("the second time %d were in the cache, %d were put, swept: %v", cache.hits, cache.puts-3, swept)
	}
	if diff := cmp.Diff(first, again); diff != "" {
		t.Errorf("the cache gives something else:\n%s", diff)
	}
	for name, other := range map[string]query.Dataset{
		"rows": {Corpus: d.Corpus, Version: d.Version, Rows: 1999}, "version": {Corpus: d.Corpus, Version: 2, Rows: d.Rows},
		"keys": {Corpus: newCorpus(t, corpus.KeyInteger, false), Version: d.Version, Rows: d.Rows},
	} {
		before := cache.hits
		mustExpect(t, other, scans, query.Options{Cache: cache})
		if cache.hits != before {
			t.Errorf("another dataset (%s) has the answers of this one", name)
		}
	}
}

func TestDamagedCacheIsNotBelieved(t *testing.T) {
	d := dataset(t, 100, corpus.KeyInteger, false)
	scans := []*query.Scan{{ID: "all", Project: query.Count}}
	dir := t.TempDir()
	want := mustExpect(t, d, scans, query.Options{Cache: query.Dir(dir)})
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		if err := os.WriteFile(files[0], bad, 0o644); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, mustExpect(t, d, scans, query.Options{Cache: query.Dir(dir)})); diff != "" {
			t.Fatalf("with a bit of byte %d turned, %s:\n%s", i, bad, diff)
		}
	}
	if err := os.WriteFile(files[0], good[:len(good)/2], 0o644); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, mustExpect(t, d, scans, query.Options{Cache: query.Dir(dir)})); diff != "" {
		t.Errorf("with half of the file:\n%s", diff)
	}
}

func TestCacheTakesManyWriters(t *testing.T) {
	dir := query.Dir(t.TempDir())
	var running sync.WaitGroup
	for range 8 {
		running.Go(func() {
			for range 50 {
				if err := dir.Put("k", &query.Expected{Rows: 7}); err != nil {
					t.Error(err)
				}
				if e, err := dir.Get("k"); err != nil || e.Rows != 7 {
					t.Errorf("%v, %v", e, err)
				}
			}
		})
	}
	running.Wait()
	left, err := os.ReadDir(string(dir))
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestCacheThatFailsIsAnError(t *testing.T) {
	d := dataset(t, 10, corpus.KeyInteger, false)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Expect(t.Context(), []*query.Scan{{ID: "all"}}, query.Options{Cache: query.Dir(file)}); err == nil {
		t.Error("a cache in a file is no error")
	}
	if _, err := query.Dir(file + "s").Get("k"); !errors.Is(err, query.ErrNotCached) {
		t.Errorf("nothing in the cache: %v", err)
	}
}

// BenchmarkExpect works out the answers of so many random scans; rows/s tells how fast.
func BenchmarkExpect(b *testing.B) {
	d := dataset(b, 100_000, corpus.KeyInteger, false)
	source, rng := querytest.New(d), rand.New(rand.NewPCG(6, 6))
	var scans []*query.Scan
	for range 30 {
		scans = append(scans, source.Scan(rng))
	}
	for b.Loop() {
		mustExpect(b, d, scans, query.Options{})
	}
	b.ReportMetric(float64(d.Rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

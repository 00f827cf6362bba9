package mapdb

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	"github.com/durabench/durabench/drivers/kvscan"
)

func engine(tb testing.TB) drivers.Engine {
	tb.Helper()
	engine, found := drivers.Lookup("map")
	if !found {
		tb.Fatal("map is not registered")
	}
	return engine
}

func TestConformance(t *testing.T) {
	conformance.Run(t, conformance.Harness{
		Engine:  engine(t),
		Instant: "an operation takes less than looking at its context would",
		Refuses: func(s *query.Scan) bool { return kvscan.Can("a hash map", s) != nil },
	})
}

func TestOtherTiersAreRefusedWithWhatIsPossible(t *testing.T) {
	e := engine(t)
	for _, profile := range []drivers.Profile{{Sync: true}, {Persisted: true}} {
		if _, err := e.Tier(profile); err == nil || !strings.Contains(err.Error(), "leave out") {
			t.Errorf("profile %+v: error %v, which does not say what to do", profile, err)
		}
	}
	for _, tier := range []drivers.Tier{drivers.TierOS, drivers.TierProcess} {
		_, err := e.Open(t.Context(), drivers.Config{Tier: tier})
		if err == nil || !strings.Contains(err.Error(), `"none"`) {
			t.Errorf("open at tier %q: error %v, which does not name the possible tier", tier, err)
		}
	}
}

func TestShardsAreManyAndAPowerOfTwo(t *testing.T) {
	for processors, want := range map[int]int{1: 4, 2: 8, 3: 16, 4: 16, 96: 512, 128: 512} {
		s := newTable[int64](processors)
		if got := len(s.shards); got != want {
			t.Errorf("%d processors: %d shards, want %d", processors, got, want)
		}
		counts := make(map[*shard[int64]]int)
		for key := range int64(1000 * want) {
			counts[s.of(spread(key+1))]++
		}
		for _, n := range counts {
			if n < 900 || n > 1100 {
				t.Fatalf("%d processors: a shard holds %d of neighbouring keys, want about 1000", processors, n)
			}
		}
	}
}

const rows = 100_000

func loaded(tb testing.TB, kind corpus.KeyKind, rows uint64) (*corpus.Corpus, drivers.Client) {
	tb.Helper()
	template, err := corpus.ParseTemplate(map[string]any{"name": "string:20", "age": "int:0..100", "text": "text:200"})
	if err != nil {
		tb.Fatal(err)
	}
	c, err := corpus.New(1, template, kind, false)
	if err != nil {
		tb.Fatal(err)
	}
	database, err := engine(tb).Open(tb.Context(), drivers.Config{Corpus: c, Clients: 1, Threads: 1, Tier: drivers.TierNone, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		tb.Fatal(err)
	}
	client, err := database.Client(tb.Context(), 0)
	if err != nil {
		tb.Fatal(err)
	}
	if err := client.(drivers.Loader).Load(tb.Context(), 0, rows, 0); err != nil {
		tb.Fatal(err)
	}
	return c, client
}

func TestReadAllocatesNothing(t *testing.T) {
	for _, kind := range corpus.KeyKinds() {
		c, client := loaded(t, kind, 1000)
		var buffer corpus.KeyBuffer
		var record drivers.Record
		ctx := t.Context()
		if n := testing.AllocsPerRun(1000, func() {
			if err := client.Read(ctx, c.Key(&buffer, 77), &record); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s key: %v allocations per read, want none", kind, n)
		}
	}
}

// BenchmarkMapRead must stay within twice BenchmarkBareShardedMap.
func BenchmarkMapRead(b *testing.B) {
	for _, kind := range []corpus.KeyKind{corpus.KeyInteger, corpus.KeyString26, corpus.KeyUUID} {
		b.Run(string(kind), func(b *testing.B) {
			c, client := loaded(b, kind, rows)
			keys := make([]corpus.Key, rows)
			for i := range keys {
				var buffer corpus.KeyBuffer
				keys[i] = c.Key(&buffer, uint64(i)).Clone()
			}
			b.ReportAllocs()
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				ctx, record, i := context.Background(), drivers.Record{}, rand.IntN(rows)
				for pb.Next() {
					i = (i + 7919) % rows
					if err := client.Read(ctx, keys[i], &record); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

// BenchmarkBareShardedMap is the same look-up written out with nothing around it: no driver, no context, no errors.
func BenchmarkBareShardedMap(b *testing.B) {
	type bareShard struct {
		sync.RWMutex
		rows map[int64][]byte
		_    [128]byte
	}
	const shards = 64
	all := make([]bareShard, shards)
	of := func(key int64) *bareShard { return &all[uint64(key)*0x9e3779b97f4a7c15>>58] }
	for i := range all {
		all[i].rows = make(map[int64][]byte)
	}
	for key := range int64(rows) {
		of(key + 1).rows[key+1] = make([]byte, 300)
	}
	var sink atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		i, n := rand.IntN(rows), 0
		for pb.Next() {
			i = (i + 7919) % rows
			key := int64(i + 1)
			shard := of(key)
			shard.RLock()
			row := shard.rows[key]
			shard.RUnlock()
			n += len(row)
		}
		sink.Add(int64(n))
	})
}

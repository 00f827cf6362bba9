package dry

import (
	"errors"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

func openDry(tb testing.TB) drivers.Client {
	tb.Helper()
	engine, found := drivers.Lookup("dry")
	if !found {
		tb.Fatal("dry is not registered")
	}
	database, err := engine.Open(tb.Context(), drivers.Config{Clients: 1, Threads: 1})
	if err != nil {
		tb.Fatal(err)
	}
	client, err := database.Client(tb.Context(), 0)
	if err != nil {
		tb.Fatal(err)
	}
	return client
}

func TestOperationsSucceedAndAllocateNothing(t *testing.T) {
	client, ctx := openDry(t), t.Context()
	var row corpus.Row
	var record drivers.Record
	key := corpus.IntegerKey(1)
	allocations := testing.AllocsPerRun(100, func() {
		if client.Create(ctx, key, &row) != nil || client.Read(ctx, key, &record) != nil || client.Update(ctx, key, &row) != nil || client.Delete(ctx, key) != nil {
			t.Fatal("an operation fails")
		}
	})
	if allocations != 0 {
		t.Errorf("%v allocations per four operations, want none", allocations)
	}
}

func TestReadCannotBeVerified(t *testing.T) {
	client := openDry(t)
	var row corpus.Row
	var record drivers.Record
	if err := client.Read(t.Context(), corpus.IntegerKey(1), &record); err != nil {
		t.Fatal(err)
	}
	if record.Held != any(Unstored) || len(record.Bytes) > 0 {
		t.Errorf("record holds %v and %d bytes, want the mark Unstored alone", record.Held, len(record.Bytes))
	}
	var unsupported drivers.Unsupported
	if err := client.Decode(&record, &row); !errors.As(err, &unsupported) {
		t.Errorf("decode gives %v, want it unsupported", err)
	}
}

func TestTierIsNoneAlone(t *testing.T) {
	engine, _ := drivers.Lookup("dry")
	for profile, want := range map[drivers.Profile]drivers.Tier{
		{}:                drivers.TierNone,
		{Optimised: true}: drivers.TierNone,
		{Sync: true}:      "",
		{Persisted: true}: "",
	} {
		got, err := engine.Tier(profile)
		if got != want || (err != nil) != (want == "") {
			t.Errorf("profile %+v: tier %q, error %v; want %q", profile, got, err, want)
		}
	}
	database, err := engine.Open(t.Context(), drivers.Config{})
	if err != nil {
		t.Fatal(err)
	}
	settings, err := database.Settings(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := settings.Require(drivers.TierNone); err != nil {
		t.Error(err)
	}
}

func BenchmarkDryRead(b *testing.B) {
	client, ctx := openDry(b), b.Context()
	var record drivers.Record
	key := corpus.IntegerKey(1)
	b.ReportAllocs()
	for b.Loop() {
		if err := client.Read(ctx, key, &record); err != nil {
			b.Fatal(err)
		}
	}
}

package redis_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/conformance"
	"github.com/durabench/durabench/drivers/drivertest"
	_ "github.com/durabench/durabench/drivers/redis"
	"github.com/durabench/durabench/drivers/respbase"
	"github.com/durabench/durabench/drivers/respbase/resptest"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/process"
)

var servers = resptest.Servers{Engine: "redis"}

func TestMain(m *testing.M) { os.Exit(max(servers.Main(m), eight.Stop())) }

// TestConformance goes with each way of pipelining to another version, of which the older cannot search.
func TestConformance(t *testing.T) {
	t.Run("auto", func(t *testing.T) {
		eight.Conformance(t, "auto", func(h *conformance.Harness) { h.RefusesSearch, h.Rough = refusesSearch, rough })
	})
	t.Run("off", func(t *testing.T) {
		servers.Conformance(t, "off", func(h *conformance.Harness) {
			h.Engine = respbase.Product{Name: h.Engine.Name, Title: h.Engine.Title, Modes: h.Engine.Modes, Server: h.Engine.Server}.Engine()
		})
	})
}

// refusesSearch tells that Redis searches in vector sets and in its query engine only, by the metrics that those have.
func refusesSearch(s *query.Search) bool {
	if s.Index == nil || s.Iterative != "" {
		return true
	}
	switch v := s.Index.Vector; v.Strategy {
	case query.VectorSet:
		return v.Metric != query.Cosine || v.Quantisation == query.Half
	case query.HNSW, query.BruteForce:
		return v.Metric == query.Manhattan || v.Quantisation != ""
	}
	return true
}

// rough tells of vector sets of signs, which do not rank what they find by the whole vectors: those they do not keep.
func rough(index query.Index) string {
	if index.Vector.Quantisation == query.Bits {
		return "signs alone say little of the order"
	}
	return ""
}

func TestValkeyIsNotTakenForRedis(t *testing.T) {
	valkey, err := exec.LookPath("valkey-server")
	ci.Need(t, err)
	folder := t.TempDir()
	if err := os.Symlink(valkey, filepath.Join(folder, "redis-server")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	server := *servers.Registered(t).Server
	server.Folders = nil
	if found, err := process.Installed(&server); !errors.Is(err, process.ErrNotInstalled) || !strings.Contains(err.Error(), "that is Valkey") || !strings.Contains(err.Error(), "-d valkey") {
		t.Errorf("found %q, %v", found, err)
	}
}

// A batch whose commands go out together is one round trip, and so one request, whatever number of commands it has.
func TestABatchIsOneRequest(t *testing.T) {
	config := servers.Config(t, 1, 1, nil)
	database := drivertest.Open(t, servers.Registered(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	batcher := drivertest.Clients(t, database, config)[0].(drivers.Batcher)
	var keys []corpus.Key
	var rows []*corpus.Row
	for index := range uint64(1000) {
		var buffer corpus.KeyBuffer
		row := &corpus.Row{}
		config.Corpus.Row(row, index, 0)
		keys, rows = append(keys, config.Corpus.Key(&buffer, index)), append(rows, row)
	}
	var answer drivers.Answer
	for _, batch := range []struct {
		what string
		run  func() (int, error)
	}{
		{"create", func() (int, error) { return batcher.CreateBatch(t.Context(), keys, rows) }},
		{"read", func() (int, error) { return batcher.ReadBatch(t.Context(), keys, &answer) }},
		{"update", func() (int, error) { return batcher.UpdateBatch(t.Context(), keys, rows) }},
		{"delete", func() (int, error) { return batcher.DeleteBatch(t.Context(), keys) }},
	} {
		if requests, err := batch.run(); requests != 1 || err != nil {
			t.Errorf("%s took %d requests, want 1: %v", batch.what, requests, err)
		}
	}
}

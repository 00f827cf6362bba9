package activities

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"github.com/durabench/durabench/activities/secrets"
	"github.com/durabench/durabench/bench/dataset/datasettest"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
)

// requirePermanent checks the type of an error that is not retried.
func requirePermanent(t *testing.T, err error, kind, text string) {
	t.Helper()
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, kind, application.Type(), "%v", err)
	require.True(t, application.NonRetryable())
	require.ErrorContains(t, err, text)
}

func TestPrepareHost(t *testing.T) {
	b := newBench(t, "sqlite", nil)
	prepared := b.prepare()
	require.Equal(t, "bench-1", prepared.Host.Name)
	require.NotEmpty(t, prepared.Host.Digest)
	require.NotEmpty(t, prepared.Harness.Version)
	info, err := os.Stat(prepared.Dir)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	b.prepare() // a retry finds it as it is
}

func TestPrepareHostRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		engine     string
		change     func(*bench)
		kind, text string
	}{
		"a run id that leads out":         {"map", func(b *bench) { b.run.ID = "../../etc" }, TypeSpec, "run id"},
		"an unknown engine":               {"map", func(b *bench) { b.run.Spec.Database = "mapp" }, TypeSpec, `"mapp"`},
		"an unknown option":               {"map", func(b *bench) { b.run.Spec.Engine = map[string]string{"shards": "7"} }, TypeSpec, "shards"},
		"a store that is a file":          {"map", func(b *bench) { b.run.Store = "dir:" + file(b.t) }, TypeSpec, "file"},
		"a store that is not ours":        {"map", func(b *bench) { b.run.Store = "dir:" + filepath.Join(file(b.t), "below") }, TypePreflight, ""},
		"data that does not fit":          {"sqlite", func(b *bench) { b.run.Spec.Samples = 1 << 39 }, TypePreflight, "MiB free"},
		"a data directory that is a file": {"sqlite", func(b *bench) { b.run.Spec.DataDir = file(b.t) }, TypePreflight, "data directory"},
		"another file of a data set": {"sqlite", func(b *bench) {
			path := datasettest.File(b.t, b.t.TempDir(), "base.fvecs", datasettest.Vecs(datasettest.Vectors(1, 9, 3)))
			b.run.Spec.Datasets = map[string]spec.Dataset{"sift": {Base: spec.DataFile{Path: path, SHA256: "00", Vectors: 9, Dimensions: 3}}}
		}, TypeSpec, "base.fvecs: this machine has a file with the SHA-256 "},
		"no file of a data set": {"sqlite", func(b *bench) {
			b.run.Spec.Datasets = map[string]spec.Dataset{"sift": {Base: spec.DataFile{Path: filepath.Join(b.t.TempDir(), "none.fvecs"), SHA256: "00", Vectors: 9, Dimensions: 3}}}
		}, TypeSpec, "none.fvecs: no such file"},
		"a query of nothing": {"sqlite", func(b *bench) {
			b.run.Spec.Mode, b.run.Spec.DataDir = spec.ModeQuery, b.t.TempDir()
		}, TypeSpec, "nothing was loaded"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.engine, nil)
			test.change(b)
			_, err := do[PreparedHost](b, b.host.PrepareHost, b.run)
			requirePermanent(t, err, test.kind, test.text)
		})
	}
}

func file(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	return path
}

func TestQueryOfOtherDataIsRefused(t *testing.T) {
	b := newBench(t, "sqlite", nil)
	b.run.Spec.Mode, b.run.Spec.DataDir = spec.ModeLoad, t.TempDir()
	_, err := do[any](b, (*Dataset)(nil).SealDataset, b.run)
	require.NoError(t, err)

	b.run.Spec.Mode = spec.ModeQuery
	b.prepare()
	b.run.Spec.Samples, b.run.Spec.Seed = 300, 8
	_, err = do[PreparedHost](b, b.host.PrepareHost, b.run)
	requirePermanent(t, err, TypeSpec, "samples: loaded 200, asked 300")
	require.ErrorContains(t, err, "seed: loaded 7, asked 8")

	_, err = do[any](b, (*Dataset)(nil).OpenDataset, b.run)
	require.NoError(t, err)
	_, err = do[PreparedHost](b, b.host.PrepareHost, b.run)
	requirePermanent(t, err, TypeSpec, "nothing was loaded")
}

// A query without searches reads what a load for searches has left as that has it; one with searches of what was loaded for none is refused.
func TestQueryFindsVectorsAsTheyWereLoaded(t *testing.T) {
	b := newBench(t, "postgres", func(s *spec.Spec) { s.Searched = true })
	b.run.Spec.Mode, b.run.Spec.DataDir = spec.ModeLoad, t.TempDir()
	_, err := do[any](b, (*Dataset)(nil).SealDataset, b.run)
	require.NoError(t, err)
	b.run.Spec.Mode, b.run.Spec.Searched = spec.ModeQuery, false
	prepared, err := do[PreparedHost](b, b.host.PrepareHost, b.run)
	require.NoError(t, err)
	require.True(t, prepared.Searched)

	b.run.Spec.Mode = spec.ModeLoad
	_, err = do[any](b, (*Dataset)(nil).SealDataset, b.run)
	require.NoError(t, err)
	b.run.Spec.Mode, b.run.Spec.Searched = spec.ModeQuery, true
	_, err = do[PreparedHost](b, b.host.PrepareHost, b.run)
	requirePermanent(t, err, TypeSpec, "searches for nearest neighbours: loaded without any, asked with them")
}

func TestCleanHostRemovesWhatIsOurs(t *testing.T) {
	b := newBench(t, "sqlite", nil)
	b.prepare()
	require.NoError(t, secrets.Write(b.run.ID, drivers.Credentials{User: "u", Password: "p"}))
	log := filepath.Join(b.run.Dir, "agent.log")
	require.NoError(t, os.WriteFile(log, nil, 0o600))

	_, err := do[any](b, b.host.CleanHost, CleanHostInput{Run: b.run, KeepLogs: true})
	require.NoError(t, err)
	require.FileExists(t, log)
	require.NoDirExists(t, filepath.Join(b.run.Dir, "data"))
	found, err := secrets.Read(b.run.ID)
	require.NoError(t, err)
	require.Empty(t, found.Password)

	// The directory is known by the run's id, whatever the input says of it.
	other := t.TempDir()
	elsewhere := b.run
	elsewhere.Dir = other
	for range 2 {
		_, err = do[any](b, b.host.CleanHost, CleanHostInput{Run: elsewhere})
		require.NoError(t, err)
	}
	require.NoDirExists(t, b.run.Dir)
	require.DirExists(t, other)
}

func TestKeptDataStaysAfterCleanUp(t *testing.T) {
	b := newBench(t, "sqlite", nil)
	b.run.Spec.Mode, b.run.Spec.DataDir = spec.ModeLoad, t.TempDir()
	b.prepare()
	started := b.start()
	require.Equal(t, filepath.Join(b.run.Spec.DataDir, "sqlite"), started.Dir)
	_, err := do[any](b, b.host.CleanHost, CleanHostInput{Run: b.run})
	require.NoError(t, err)
	require.DirExists(t, started.Dir)

	b.run.Spec.Name = "other"
	require.NotEqual(t, started.Dir, b.start().Dir, "loads of different names do not share their files")
}

func TestDataOfARunThatKeepsNothingGoes(t *testing.T) {
	b := newBench(t, "sqlite", nil)
	b.run.Spec.DataDir = t.TempDir()
	b.prepare()
	started := b.start()
	require.DirExists(t, started.Dir)
	_, err := do[any](b, b.host.CleanHost, CleanHostInput{Run: b.run, KeepLogs: true})
	require.NoError(t, err)
	left, err := os.ReadDir(b.run.Spec.DataDir)
	require.NoError(t, err)
	require.Empty(t, left, "and the user's directory is as it was")
}

package measure

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/dataset/datasettest"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// vectorsOfFiles are vectors, queries and neighbours in files beside a workload.
const vectorsOfFiles = `
seed = 42
[value]
near = "vector:8:data:real"
number = "int:0..1000000000"

[datasets.real]
base = "base.fvecs"
queries = "queries.bvecs"
truth = "truth.ivecs"
distance = "euclidean"

[[scans]]
id = "near"
iterations = 40

[[scans.runs]]
name = "exact"
[scans.runs.vector_query]
field = "near"
top_k = 10
distance = "euclidean"
index_strategy = { kind = "bruteforce" }
filters = [{ name = "half", where = { number = { lt = 500000000 } } }]

[[scans.runs]]
name = "other"
[scans.runs.vector_query]
field = "near"
top_k = 10
distance = "cosine"
index_strategy = { kind = "bruteforce" }
`

// dataRun is a run on nearbyRows of so many vectors; change may change the neighbours that come with them. It returns where the files are.
func dataRun(t *testing.T, vectors int, change func(truth [][]int32)) (*run, string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	folder := t.TempDir()
	base := datasettest.Vectors(1, vectors, 8)
	coded := make([][]uint8, 20)
	queries := make([][]float32, len(coded))
	for i := range coded {
		for j := range 8 {
			coded[i] = append(coded[i], uint8((i*7+j*j)%3))
			queries[i] = append(queries[i], float32(coded[i][j]))
		}
	}
	truth := datasettest.Truth(base, queries, 15)
	change(truth)
	datasettest.File(t, folder, "base.fvecs", datasettest.Vecs(base))
	datasettest.File(t, folder, "queries.bvecs", datasettest.Vecs(coded))
	datasettest.File(t, folder, "truth.ivecs", datasettest.Vecs(truth))
	config := datasettest.File(t, folder, "near.toml", []byte(vectorsOfFiles))
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := spec.NewFlags(set)
	require.NoError(t, set.Parse([]string{"-d", nearbyEngine, "-s", "503", "--config", config, "--vector-warmup-seconds", "1"}))
	request, err := spec.Build(flags, nil, spec.Facts{Engines: []spec.EngineFacts{{Name: nearbyEngine, Servers: []string{"embedded"}}}})
	require.NoError(t, err)
	return newRun(t, nearbyEngine, func(s *spec.Spec) {
		*s = *request.Spec
		s.Clients, s.Threads = 1, 1
	}), folder
}

const dataLeg = "search/near/exact/all/sequential"

func TestSearchesInADataSet(t *testing.T) {
	r, _ := dataRun(t, nearbyRows, func([][]int32) {})
	leg := r.searched("search/near/other/all/sequential")
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Equal(t, 1.0, leg.Measured.Recall.TieAware.Min)
	require.Empty(t, leg.Search.Published, "by another distance")
	for _, id := range []string{dataLeg, "search/near/exact/half/sequential"} {
		leg = r.find(id)
		require.Equal(t, result.Valid, leg.Verdict, "%s: %s", id, leg.Why)
	}
	for _, id := range []string{"create", "read", "update"} {
		leg = r.find(id)
		require.Contains(t, []result.Verdict{result.Valid, result.GeneratorLimited}, leg.Verdict, "%s: %s; a map may be as fast as the harness", id, leg.Why)
		require.Positive(t, leg.Measured.Checked)
	}
	all := r.find(dataLeg)
	require.Equal(t, 1.0, all.Measured.Recall.TieAware.Min)
	require.Equal(t, 20, all.Search.Queries)
	require.Equal(t, "the nearest 10 in truth.ivecs are ours in all 20 queries", all.Search.Published)
	require.NotContains(t, strings.Join(all.Search.Warnings, " "), "truth.ivecs")
}

func TestPublishedNeighboursThatDifferAreSaid(t *testing.T) {
	r, _ := dataRun(t, nearbyRows, func(truth [][]int32) { truth[3][9], truth[3][14], truth[8][0] = truth[3][14], truth[3][9], truth[8][1] })
	leg := r.searched(dataLeg)
	require.Equal(t, result.Valid, leg.Verdict, "ours score")
	require.Equal(t, 1.0, leg.Measured.Recall.TieAware.Min)
	require.Contains(t, leg.Search.Published, "the nearest 10 in truth.ivecs differ from ours in 2 of 20 queries beyond ties and rounding; the first is query 3, where a share of 0.9 is ours")
	require.Contains(t, leg.Search.Warnings, leg.Search.Published)
}

func TestPublishedNeighboursAmongOthersAreNotCompared(t *testing.T) {
	r, _ := dataRun(t, nearbyRows+100, func([][]int32) {})
	leg := r.searched(dataLeg)
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Equal(t, "the neighbours in truth.ivecs were not compared with ours: they are among all 603 vectors, and the run has 503 rows", leg.Search.Published)
}

// An agent that has another file refuses, and a file that changes under a run ends it.
func TestFilesOfADataSetAreThoseOfTheRun(t *testing.T) {
	r, folder := dataRun(t, nearbyRows, func([][]int32) {})
	for _, step := range r.plan.Steps[:2] {
		require.Empty(t, r.do(t.Context(), step.ID).Error)
	}
	datasettest.File(t, folder, "base.fvecs", datasettest.Vecs(datasettest.Vectors(5, nearbyRows, 8)))
	outcome := r.do(t.Context(), "prepare")
	require.Contains(t, outcome.Error, "base.fvecs: the file has changed while it was in use")
	require.Equal(t, agent.ErrorSpec, outcome.ErrorClass)
	leg := r.do(t.Context(), "create").Leg
	require.Equal(t, result.Failed, leg.Verdict)
	require.Contains(t, leg.Why, "has changed")

	again := func() error {
		_, err := newSession(agent.Setup{RunID: "run-1", Spec: r.spec, Server: "embedded", Dir: r.dir}, drivers.Credentials{}, nil, tuning{}, slog.New(slog.DiscardHandler))
		return err
	}
	require.ErrorContains(t, again(), "data set real, base: vectors in "+filepath.Join(folder, "base.fvecs")+": this machine has a file with the SHA-256 ")
	require.NoError(t, os.Remove(filepath.Join(folder, "base.fvecs")))
	require.ErrorContains(t, again(), "no such file")
}

// A step in which a file changes has come to nothing.
func TestFileThatChangesInAStep(t *testing.T) {
	r, folder := dataRun(t, nearbyRows, func([][]int32) {})
	changed := false
	outcome := r.session.Run(t.Context(), agent.Task{Step: r.step("prepare"), Attempt: 1, Say: func(string) {
		if !changed {
			changed = true
			datasettest.File(t, folder, "queries.bvecs", datasettest.Vecs([][]uint8{{1}}))
		}
	}})
	require.True(t, changed)
	require.Contains(t, outcome.Error, "queries.bvecs: the file has changed while it was in use")
}

// Which rows have which vectors is one thing for the neighbours and for the table.
func TestDatasetOfTheSearchedColumn(t *testing.T) {
	r, _ := dataRun(t, nearbyRows, func([][]int32) {})
	d, ok := r.spec.DatasetOf(r.session.corpus.Template(), query.Path{"near"})
	require.True(t, ok)
	require.EqualValues(t, nearbyRows, d.Base.Vectors)
	require.Equal(t, spec.Holdout{Count: 20}, r.plan.Steps[0].Neighbours.Holdout)
}

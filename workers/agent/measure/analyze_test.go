package measure

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// What was made again is known to the server's planner before the next leg, as what was made first is.
func TestStatisticsAreRefreshedOfWhatWasMadeAgain(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const scan, mix = "scan/age/full/indexed/read", "scan/age/full/heap/write-50"
	indexer := func(r *run) drivers.Indexer { return r.session.database.Database.(drivers.Indexer) }
	for name, test := range map[string]struct {
		upTo, leg string
		lose      func(*run)
		analyses  int64
	}{
		"nothing":        {scan, scan, (*run).lose, 0},
		"rows and index": {scan, scan, func(r *run) { require.NoError(r.t, r.session.database.Prepare(r.t.Context())); r.lose() }, 2},
		"an index": {scan, scan, func(r *run) {
			require.NoError(r.t, indexer(r).DropIndex(r.t.Context(), *r.step("index/age/full/build").Index))
		}, 1},
		"every row": {mix, mix + "/restore", func(r *run) { r.must(mix); r.lose() }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := workload(t, faultySQL, every, nil)
			r.skipTo(test.upTo)
			if test.leg == scan {
				r.must("analyze")
			}
			test.lose(r)
			r.server().analyses.Store(0)
			outcome := r.do(t.Context(), test.leg)
			require.Empty(t, outcome.Error)
			if outcome.Leg != nil {
				require.Equal(t, result.Valid, outcome.Leg.Verdict, outcome.Leg.Why)
			}
			require.Equal(t, test.analyses, r.server().analyses.Load())
			if test.analyses == 2 {
				require.Equal(t, []string{agent.CauseDatasetLost, agent.CauseDatasetRebuilt}, causes(outcome.Leg))
			}
		})
	}
}

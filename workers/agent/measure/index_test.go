package measure

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
)

const indexLeg = "index/age/full/build"

// indexState asks the engine itself.
func (r *run) indexState(leg string) drivers.IndexState {
	r.t.Helper()
	state, err := r.session.database.Database.(*faultySQLDatabase).sqlDatabase.IndexState(r.t.Context(), *r.step(leg).Index)
	require.NoError(r.t, err)
	return state
}

// An index whose call returns before it is built is not called built by it.
func TestThreeClocksOfAnIndex(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := workload(t, faultySQL, every, nil)
	r.skipTo("index/age/full/build")
	r.set("slow build")
	leg := r.do(t.Context(), "index/age/full/build").Leg
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	index := leg.Index
	require.Less(t, *index.ReturnedNs, *index.ServingNs-slowBuild.Nanoseconds()/2, "the build went on after it")
	require.Less(t, *index.CorrectNs, *index.ServingNs, "a scan without the index answers right as well")
	require.GreaterOrEqual(t, *index.ServingNs, slowBuild.Nanoseconds())
	require.Greater(t, index.Polls, int64(1))
	require.GreaterOrEqual(t, leg.Measured.WallNs, *index.ServingNs, "the build took until it serves")
	r.set("none")
	r.must("scan/age/full/indexed/read", "index/age/full/drop")
}

// A build that the server goes on with after its agent was lost is timed from its start, whether or not the server shows it. The rows are as they
// were, and are not loaded again: that would end the build.
func TestABuildThatGoesOnIsTimedFromItsStart(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, fault := range []string{"build under way", "build under way, unseen"} {
		t.Run(fault, func(t *testing.T) {
			r := workload(t, faultySQL, every, nil)
			r.skipTo(indexLeg)
			began := time.Now().Add(-time.Minute)
			var err error
			r.memory[indexLeg], err = json.Marshal(begunBuild{At: began, Asked: 1})
			require.NoError(t, err)
			r.server().begin(*r.step(indexLeg).Index) // what the agent has begun that is lost now
			r.set(fault)
			r.lose()
			leg := r.again(indexLeg)
			require.Equal(t, result.Valid, leg.Verdict, leg.Why)
			require.Empty(t, causes(leg))
			require.NotContains(t, strings.Join(r.said, "\n"), "loading rows")
			require.True(t, leg.Index.Resumed)
			require.Nil(t, leg.Index.ReturnedNs, "nobody saw it")
			require.Greater(t, *leg.Index.ServingNs, (time.Minute + slowBuild/2).Nanoseconds())
			require.Less(t, *leg.Index.ServingNs, 2*time.Minute.Nanoseconds())
			require.Contains(t, leg.Index.Note, "went on building")
			require.NotContains(t, leg.Index.Note, "asked")
			require.GreaterOrEqual(t, leg.Measured.WallNs, *leg.Index.ServingNs)
			r.set("none")
			r.must("scan/age/full/indexed/read", "index/age/full/drop")
		})
	}
}

// The start that counts is the first, however many agents have waited for the end of the build since then and were lost.
func TestTheFirstStartOfABuildIsRemembered(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := workload(t, faultySQL, every, nil)
	r.skipTo(indexLeg)
	began := time.Now().Add(-time.Minute)
	var err error
	r.memory[indexLeg], err = json.Marshal(begunBuild{At: began, Asked: 1})
	require.NoError(t, err)
	index := *r.step(indexLeg).Index
	r.server().begin(index)
	r.set("build under way, unseen")
	r.lose()
	var memory []byte
	r.server().onCreate = func() { memory = r.memory[indexLeg] }
	require.True(t, r.again(indexLeg).Index.Resumed)
	r.server().onCreate = nil

	// As if that agent had been lost while the server had it wait.
	require.NoError(t, r.session.database.Database.(drivers.Indexer).DropIndex(t.Context(), index))
	r.memory[indexLeg] = memory
	r.server().begin(index)
	r.lose()
	leg := r.again(indexLeg)
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Greater(t, *leg.Index.ServingNs, time.Minute.Nanoseconds())
	require.Contains(t, leg.Index.Note, "it was asked 2 times")

	// One that had come to nothing is not where the next one has begun.
	require.NoError(t, r.session.database.Database.(drivers.Indexer).DropIndex(t.Context(), index))
	r.memory[indexLeg] = memory
	r.set("none")
	r.lose()
	leg = r.again(indexLeg)
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.False(t, leg.Index.Resumed)
	require.Less(t, *leg.Index.ServingNs, time.Minute.Nanoseconds())
	var last begunBuild
	require.NoError(t, json.Unmarshal(r.memory[indexLeg], &last))
	require.Greater(t, last.At, began.Add(time.Second))
}

// One that has ended while there was no agent is built again: nobody knows how long it took.
func TestABuildThatEndedUnseenIsBuiltAgain(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := workload(t, faultySQL, every, nil)
	r.skipTo(indexLeg)
	r.memory[indexLeg] = []byte(`{"at":"2026-01-01T00:00:00Z","asked":1}`)
	require.NoError(t, r.session.database.Database.(drivers.Indexer).CreateIndex(t.Context(), *r.step(indexLeg).Index))
	r.lose()
	leg := r.again(indexLeg)
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Empty(t, causes(leg))
	require.False(t, leg.Index.Resumed)
	require.Less(t, *leg.Index.ServingNs, time.Minute.Nanoseconds())
}

// What an index leaves that is not to be seen goes before its build.
func TestABuildBeginsWithADrop(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	r := workload(t, faultySQL, every, nil)
	r.skipTo(indexLeg)
	require.False(t, r.indexState(indexLeg).Exists)
	r.server().drops.Store(0)
	r.must(indexLeg)
	require.EqualValues(t, 1, r.server().drops.Load())
}

// The legs after a build, or a drop, that came to nothing are not measured with the index.
func TestNothingIsLeftOfAnIndexWhoseLegFailed(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	const drop = "index/age/full/drop"
	for _, test := range []struct {
		fault, leg string
		verdict    result.Verdict
		cleared    bool
	}{
		{"build fails", indexLeg, result.Failed, true},
		{"build fails late", indexLeg, result.Failed, true},
		{"never ready", indexLeg, result.Interrupted, true},
		{"build fails late, and drops", indexLeg, result.Failed, false},
		{"first drop fails", drop, result.Failed, true},
		{"drop fails", drop, result.Failed, false},
		{"lost drop", drop, result.Failed, false},
	} {
		t.Run(test.fault, func(t *testing.T) {
			r := workload(t, faultySQL, every, nil)
			r.skipTo(test.leg)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r.set(test.fault)
			if test.verdict == result.Interrupted {
				time.AfterFunc(100*time.Millisecond, cancel)
			}
			if test.fault == "build fails late, and drops" { // the drop before the build is not to fail
				r.set("none")
				r.server().onCreate = func() { r.set(test.fault) }
			}
			outcome := r.do(ctx, test.leg)
			require.Equal(t, test.verdict, outcome.Leg.Verdict, outcome.Leg.Why)
			require.Equal(t, test.cleared, outcome.Cleared)
			require.Equal(t, !test.cleared, r.indexState(test.leg).Exists)
			require.Equal(t, !test.cleared, strings.Contains(outcome.Leg.Index.Note, "what is left of it could not be removed"))
		})
	}
}

package measure

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/workers/agent"
)

const (
	churnID     = "index/near/hnsw/churn"
	firstDelete = churnID + "/1/delete"
	lastInsert  = churnID + "/2/insert"
	restored    = churnID + "/restore"
	churnedAll  = "search/near/hnsw/churned/all/ef_search-50/sequential"
	churnedHalf = "search/near/hnsw/churned/half/ef_search-50/sequential"
	// churnRows is a fifth of the rows, and churnDeletes what all rounds delete.
	churnRows    = 101
	churnDeletes = 2 * churnRows
)

// churning is a run of searches before and after two rounds of churn.
func churning(t *testing.T) *run {
	t.Helper()
	return searches(t, "none", func(s *spec.Spec) { s.Scans[0].Runs[1].Search.Churn = &spec.Churn{Share: 0.2, Rounds: 2} })
}

func (r *run) nearby() *nearbyDatabase { return r.session.database.Database.(*nearbyDatabase) }

// loseAgent has another agent go on with the same database: it lives elsewhere.
func (r *run) loseAgent() {
	r.t.Helper()
	database := r.session.database
	r.session.database = nil
	r.open()
	r.session.database = database
}

func noted(leg *result.Leg) string {
	var notes []string
	for _, i := range leg.Interruptions {
		notes = append(notes, i.Cause+": "+i.Note)
	}
	return strings.Join(notes, "\n")
}

// The index stays while rows go and come again, and is searched again after that; nobody asks the database what everyone knows.
func TestSearchesAfterChurn(t *testing.T) {
	r := churning(t)
	r.upTo(firstDelete)
	require.Zero(t, r.nearby().deletes.Load())
	gone := r.do(t.Context(), firstDelete).Leg
	require.Equal(t, result.Valid, gone.Verdict, gone.Why)
	require.EqualValues(t, nearbyRows-churnRows, *gone.Measured.RowsAfter)
	require.EqualValues(t, churnRows, gone.Measured.OK)
	require.Equal(t, 1, gone.Churn.Round)
	require.NotNil(t, gone.Churn.ReadyNs)
	require.Equal(t, "it is in the map", gone.Index.How)
	require.Contains(t, gone.Index.MemoryNote, "inside the agent")
	r.must(churnID+"/1/insert", churnID+"/2/delete", lastInsert, restored, churnedAll)
	leg := r.do(t.Context(), churnedHalf).Leg
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Equal(t, &result.Churn{Index: "ix_near", Rows: churnRows, Rounds: 2}, leg.Search.Churn)
	require.Contains(t, leg.Search.Proof, "20 exact searches")
	require.Empty(t, noted(leg))
	require.EqualValues(t, churnDeletes, r.nearby().deletes.Load())
	r.must("index/near/hnsw/drop", "delete")
}

// Another agent finds with the rows what the index has gone through.
func TestChurnIsKnownAfterTheLossOfAnAgent(t *testing.T) {
	r := churning(t)
	r.upTo(lastInsert)
	r.loseAgent()
	r.must(lastInsert)
	r.loseAgent()
	r.must(restored)
	leg := r.do(t.Context(), churnedAll).Leg
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Empty(t, noted(leg))
	require.EqualValues(t, churnDeletes, r.nearby().deletes.Load())
}

// An index that may be another than the one that has gone through churn goes through it before it is searched, and the leg says so.
func TestAnIndexThatWasBuiltAgainIsChurnedAgain(t *testing.T) {
	for name, test := range map[string]struct {
		before string // the step before which it is lost
		lose   func(r *run)
	}{
		"the index":            {churnedAll, func(r *run) { delete(r.nearby().indexes, "ix_near") }},
		"the index, meanwhile": {lastInsert, func(r *run) { delete(r.nearby().indexes, "ix_near") }},
		"the server":           {churnedAll, func(r *run) { r.loseAgent(); r.session.setup.ServerPID = 1 << 30 }},
		"the rows":             {churnedAll, func(r *run) { r.lose() }},
	} {
		t.Run(name, func(t *testing.T) {
			r := churning(t)
			r.upTo(test.before)
			deletes := r.nearby().deletes.Load()
			test.lose(r)
			if test.before == lastInsert {
				leg := r.do(t.Context(), lastInsert).Leg
				require.Equal(t, result.Valid, leg.Verdict, leg.Why)
				require.Contains(t, noted(leg), "index ix_near was not there and was built again")
				r.must(restored)
			}
			leg := r.do(t.Context(), churnedAll).Leg
			require.Equal(t, result.Valid, leg.Verdict, leg.Why)
			require.Contains(t, noted(leg), agent.CauseDatasetRebuilt+": index ix_near was built again, or its server started again")
			require.Contains(t, noted(leg), "101 of them were once more, 2 times, before the leg, off its clock")
			if name == "the rows" { // and their database with them
				deletes = 0
			}
			require.EqualValues(t, churnDeletes, r.nearby().deletes.Load()-deletes)
			leg = r.do(t.Context(), churnedHalf).Leg
			require.Equal(t, result.Valid, leg.Verdict, leg.Why)
			require.Empty(t, noted(leg), "it was done once")
		})
	}
}

// A leg that is cut short has its rows made again; what the index has gone through with them is done again before it is searched.
func TestChurnThatIsCutShortIsDoneAgain(t *testing.T) {
	for _, id := range []string{firstDelete, lastInsert} {
		r := churning(t)
		r.upTo(id)
		r.loseAgent()
		leg := r.again(id)
		require.Equal(t, result.Valid, leg.Verdict, leg.Why)
		require.Contains(t, noted(leg), "the attempt that was cut short had used rows up")
		require.EqualValues(t, *leg.Measured.RowsWanted, *leg.Measured.RowsAfter)
		at := false
		for _, step := range r.plan.Steps {
			if at && step.ID != churnedAll {
				r.must(step.ID)
			}
			if at = at || step.ID == id; step.ID == churnedAll {
				break
			}
		}
		searched := r.do(t.Context(), churnedAll).Leg
		require.Equal(t, result.Valid, searched.Verdict, searched.Why)
		require.Equal(t, id == lastInsert, strings.Contains(noted(searched), "once more, 2 times"), "%s: %s", id, noted(searched))
	}
}

// A leg that fails leaves no half of the rows to those that follow.
func TestChurnThatFailsIsPutRight(t *testing.T) {
	for fault, why := range map[string]string{
		"inserts fail": "disk is full", "inserts never end": "after rows were deleted and inserted: wait until index ix_near serves: as it likes",
	} {
		r := churning(t)
		r.upTo(lastInsert)
		r.nearby().inserts.Store(0)
		r.nearby().fault, r.session.setup.Spec.OperationTimeout = fault, spec.Duration(100*time.Millisecond)
		leg := r.do(t.Context(), lastInsert).Leg
		require.Equal(t, result.Failed, leg.Verdict)
		require.Contains(t, leg.Why, why)
		require.Nil(t, leg.Churn.ReadyNs)
		r.nearby().fault, r.session.setup.Spec.OperationTimeout = "none", spec.Duration(10*time.Second)
		r.must(restored)
		rows, err := r.nearby().Count(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, nearbyRows, rows, fault)
		r.must("index/near/hnsw/drop", "delete")
	}
}

// What the server refuses as conflicting and asks for again is sent again, and counted; but not without end.
func TestConflictsOfChurnAreSentAgain(t *testing.T) {
	r := churning(t)
	r.upTo(lastInsert)
	r.nearby().inserts.Store(0)
	r.nearby().fault = "some inserts conflict"
	leg := r.do(t.Context(), lastInsert).Leg
	require.Equal(t, result.Valid, leg.Verdict, leg.Why)
	require.Greater(t, *leg.Measured.Retries, int64(churnRows/4))
	require.EqualValues(t, nearbyRows, *leg.Measured.RowsAfter)
	r.must(restored)
	delete(r.nearby().indexes, "ix_near")
	r.must(churnedAll) // with conflicts, off the clock

	r = churning(t)
	r.upTo(lastInsert)
	r.nearby().fault = "inserts conflict"
	leg = r.do(t.Context(), lastInsert).Leg
	require.Equal(t, result.Failed, leg.Verdict)
	require.Contains(t, leg.Why, "conflict: deadlock found")
}

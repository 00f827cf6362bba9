package agent

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLedgerRemembers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), stepsDir)
	ledger, err := openLedger(dir)
	require.NoError(t, err)
	for _, id := range []string{"scan/one/read", "read"} {
		e, err := ledger.begin(Begin{Step: timed(id, "done")}, time.Now())
		require.NoError(t, err)
		require.NoError(t, ledger.finish(e, failedOutcome(e.Step, "because of "+id)))
	}
	_, err = ledger.begin(Begin{Step: timed("update", "done")}, time.Now())
	require.NoError(t, err)

	again, err := openLedger(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"scan/one/read", "read"}, again.finished())
	require.Equal(t, 4, again.next)
	require.Len(t, again.steps["update"].Begun, 1)
	require.Nil(t, again.steps["update"].outcome)

	// "read" ends the name of "scan/one/read" as well.
	outcome, err := ReadOutcome(filepath.Dir(dir), "read")
	require.NoError(t, err)
	require.Equal(t, "because of read", outcome.Leg.Why)
	_, err = ReadOutcome(filepath.Dir(dir), "update")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestLedgerNamesADamagedFile(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "001-read.begun.json"), []byte("{"), 0o600))
	_, err := openLedger(dir)
	require.ErrorContains(t, err, "001-read.begun.json")
}

func TestLedgerRecallsWhatGoesOn(t *testing.T) {
	dir := filepath.Join(t.TempDir(), stepsDir)
	step := timed("index/age/build", "done")
	now := time.Now()
	type started struct{ At time.Time }
	var found started

	ledger, err := openLedger(dir)
	require.NoError(t, err)
	e, err := ledger.begin(Begin{Step: step}, now)
	require.NoError(t, err)
	there, err := ledger.recall(e, &found)
	require.NoError(t, err)
	require.False(t, there, "nothing was remembered")
	require.NoError(t, ledger.remember(e, started{now}))
	there, err = ledger.recall(e, &found)
	require.NoError(t, err)
	require.False(t, there, "it is this execution's own")

	// The agent is lost, and another goes on.
	ledger, err = openLedger(dir)
	require.NoError(t, err)
	e, err = ledger.begin(Begin{Step: step}, now.Add(time.Minute))
	require.NoError(t, err)
	there, err = ledger.recall(e, &found)
	require.NoError(t, err)
	require.True(t, there)
	require.True(t, now.Equal(found.At))

	// The database server is lost as well: nothing goes on there.
	e, err = ledger.begin(Begin{Step: step, Lost: []Loss{{Attempt: 2, At: now, Cause: CauseServerLost}}}, now.Add(2*time.Minute))
	require.NoError(t, err)
	there, err = ledger.recall(e, &found)
	require.NoError(t, err)
	require.False(t, there)
}

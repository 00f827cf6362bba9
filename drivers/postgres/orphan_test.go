package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/drivertest"
)

// A server goes on with a build whose client is lost. Nobody sees it before it is committed; a second build waits for its end and then says that there is
// such an index, or builds it when the first came to nothing.
func TestABuildThatIsUnderWayIsWaitedFor(t *testing.T) {
	config := small(t, 1, 1, nil)
	database := drivertest.Open(t, engine(t), config)
	drivertest.Must(t, database.Prepare(t.Context()))
	indexer := database.(drivers.Indexer)
	index := query.Index{Name: "orphan", Kind: query.Ordered, Paths: []query.Path{{"number"}}}
	other, eye := control(t, config), control(t, config)
	defer other.Close(context.Background())
	defer eye.Close(context.Background())
	for _, end := range []string{"COMMIT", "ROLLBACK"} {
		run(t, other, `BEGIN; CREATE INDEX durabench_orphan ON durabench.record (number)`)
		state, err := indexer.IndexState(t.Context(), index)
		drivertest.Must(t, err)
		if state.Exists {
			t.Fatalf("the build that is under way shows: %+v", state)
		}
		done := make(chan error, 1)
		go func() { done <- indexer.CreateIndex(t.Context(), index) }()
		for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			if waiting := run(t, eye, "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'CREATE INDEX%'")[0][0]; waiting == "1" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatal("the second build does not wait for the first")
			}
		}
		run(t, other, end)
		err = <-done
		if end == "COMMIT" && !errors.Is(err, drivers.ErrExists) || end == "ROLLBACK" && err != nil {
			t.Errorf("after %s: %v", end, err)
		}
		drivertest.Must(t, indexer.DropIndex(t.Context(), index))
	}
}

package measure

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
)

// stuckDatabase has index builds that return long after their context has ended, with what the test says.
type stuckDatabase struct {
	drivers.Database
	came  error
	asked bool
}

func (d *stuckDatabase) CanIndex(query.Index) error { return nil }

func (d *stuckDatabase) CreateIndex(context.Context, query.Index) error {
	time.Sleep(time.Hour)
	return d.came
}

func (d *stuckDatabase) IndexState(context.Context, query.Index) (drivers.IndexState, error) {
	return drivers.IndexState{}, nil
}

func (d *stuckDatabase) DropIndex(context.Context, query.Index) error { return drivers.ErrNotFound }

// Retries is asked before the build and once more when its result is being made: then it takes so long that the build comes back meanwhile.
func (d *stuckDatabase) Retries() int64 {
	if d.asked {
		time.Sleep(2 * time.Hour)
	}
	d.asked = true
	return 0
}

func (d *stuckDatabase) Close() error { return nil }

// The result of a build that does not come back is made while it is still under way: nothing is taken from it, and nothing of it is promised to be gone.
func TestABuildThatDoesNotComeBack(t *testing.T) {
	for _, came := range []error{nil, errors.New("too late"), drivers.Unsupported{Why: "no such index"}} {
		r := newRun(t, "map", func(s *spec.Spec) { s.OperationTimeout = spec.Duration(time.Minute) })
		r.must("prepare")
		synctest.Test(t, func(t *testing.T) {
			r.t = t
			s := r.session
			opened := s.database.Database
			defer func() { require.NoError(t, opened.Close()) }()
			s.database = &database{Database: &stuckDatabase{Database: opened, came: came}, engine: s.engine, clients: s.database.clients}
			r.plan.Steps = []plan.Step{{
				ID: "build", Title: "Build", Kind: plan.IndexBuild, Timed: true, Needs: plan.Any, Leaves: plan.Any, Effect: plan.ReadOnly, Samples: 1, Clients: 1, Threads: 1,
				Index: &query.Index{Name: "ix", Kind: query.Ordered},
			}}
			outcome := r.do(t.Context(), "build")
			require.Equal(t, result.Failed, outcome.Leg.Verdict, outcome.Leg.Why)
			require.Contains(t, outcome.Leg.Why, "did not end within")
			require.Nil(t, outcome.Leg.Index.ReturnedNs)
			require.False(t, outcome.Cleared)
		})
	}
}

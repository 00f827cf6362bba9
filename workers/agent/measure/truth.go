package measure

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/infra/home"
	"github.com/durabench/durabench/workers/agent"
)

// truth works out what the plan's scans are to answer, so that no leg has to wait for it. The answers are kept below the user's cache
// directory, where every engine and every run of the same data finds them.
func (s *session) truth(ctx context.Context, task agent.Task) agent.Outcome {
	scans := make([]*query.Scan, 0, len(task.Step.Scans))
	for i := range task.Step.Scans {
		scan, err := query.Bind(&task.Step.Scans[i], s.corpus.Template())
		if err != nil {
			return failed(task, &problem{agent.ErrorSpec, fmt.Errorf("scan %s: %w", task.Step.Scans[i].ID, err)})
		}
		scans = append(scans, scan)
	}
	if _, err := s.expect(ctx, task, scans); err != nil {
		return failed(task, err)
	}
	return agent.Outcome{}
}

// dataset is what the database holds while a step runs that reads.
func (s *session) dataset(task agent.Task) query.Dataset {
	return query.Dataset{Corpus: s.corpus, Version: task.Step.Version, Rows: uint64(s.rowsOf(task.Step))}
}

// expect returns what scans are to answer.
func (s *session) expect(ctx context.Context, task agent.Task, scans []*query.Scan) ([]*query.Expected, error) {
	options := query.Options{}
	if dir, err := home.Cache(); err != nil {
		s.logger.Warn("expected answers are not kept", "error", err)
	} else {
		options.Cache = query.Dir(filepath.Join(dir, "expected"))
	}
	rows := s.rowsOf(task.Step)
	began := time.Now()
	var said atomic.Int64
	options.Progress = func(done uint64) {
		now := time.Now()
		if last := said.Load(); now.UnixNano()-last < int64(time.Second) || !said.CompareAndSwap(last, now.UnixNano()) {
			return
		}
		left := time.Duration(float64(now.Sub(began)) * (float64(rows)/float64(done) - 1)).Round(time.Second)
		task.Say(fmt.Sprintf("working out the expected answers of %d scans: %s of %s rows, %s left", len(scans), humanize.Comma(int64(done)),
			humanize.Comma(rows), left))
	}
	answers, err := s.dataset(task).Expect(ctx, scans, options)
	if err != nil {
		return nil, fmt.Errorf("work out what the scans are to answer: %w", err)
	}
	return answers, nil
}

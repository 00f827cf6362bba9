package measure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

// How often a build is asked about: when a tenth of the time that it has taken until then has passed again, within bounds.
const (
	shortestPoll = 10 * time.Millisecond
	longestPoll  = 250 * time.Millisecond
)

// pollPause returns how long to wait before asking again.
func pollPause(waited time.Duration) time.Duration {
	return min(max(waited/10, shortestPoll), longestPoll)
}

// buildIndex builds an index and times it by three clocks, all from the start of the call: when the call returned, when the scan first gave its right
// answer, and when the index serves the scan with nothing left to do. The last of them is how long the build took.
func (s *session) buildIndex(ctx context.Context, task agent.Task) agent.Outcome {
	b := &indexBuild{job: &scanJob{session: s, task: task}, index: *task.Step.Index}
	return s.clearIndex(ctx, task, s.single(ctx, task, work{prepare: b.prepare}, b.build, b.report))
}

// indexBuild is the work of an index leg.
type indexBuild struct {
	job    *scanJob
	search *searchJob // of a vector index, in place of the scan
	index  query.Index

	indexer                    drivers.Indexer
	returned, correct, serving *time.Duration
	state                      drivers.IndexState
	polls                      int64
	wrong                      error // the last wrong answer
	// earlier is what executions of this step whose agents were lost have begun; nil when there was none. resumed tells that the server went on with
	// that build, and that all clocks are from its start.
	earlier  *begunBuild
	resumed  bool
	compared bool // the right one was compared by its content
	before   serverReading
}

// serverReading is what the server's processes held at one moment.
type serverReading struct {
	PID    int            `json:"pid,omitempty"` // of the server
	Memory *result.Memory `json:"memory,omitempty"`
	Note   string         `json:"note,omitempty"`
}

// readServer reads what the server's processes hold now.
func (s *session) readServer() serverReading {
	r := serverReading{PID: s.setup.ServerPID}
	r.Memory, r.Note = s.serverMemory()
	return r
}

// prepare readies the scan whose answers tell when the index is right, and removes what a build that was cut short has left.
func (b *indexBuild) prepare(ctx context.Context, leg *result.Leg) (*refusal, error) {
	j, s := b.job, b.job.session
	leg.Index = describeIndex(b.index)
	j.clients = s.database.clients
	defer func() { b.before = s.readServer() }() // last of all before the clock
	var err error
	if b.indexer, err = s.indexer(); err != nil {
		return nil, err
	}
	if err := b.indexer.CanIndex(b.index); err != nil {
		return nil, err
	}
	if err := b.resume(ctx); err != nil {
		return nil, err
	}
	if err := s.unworn(ctx); err != nil {
		return nil, err
	}
	if err := b.dropLeft(ctx); err != nil {
		return nil, err
	}
	if j.task.Step.Search != nil {
		b.search = &searchJob{session: s, task: j.task}
		if err := b.search.bind(ctx); err != nil {
			return nil, err
		}
		leg.Search = b.search.describe()
	}
	if j.task.Step.Scan == nil {
		return nil, nil
	}
	if j.scan, err = query.Bind(&j.task.Step.Scan.Query, s.corpus.Template()); err != nil {
		return nil, &problem{agent.ErrorSpec, fmt.Errorf("scan %s: %w", j.task.Step.Scan.Query.ID, err)}
	}
	if err := j.findExpected(ctx); err != nil {
		return nil, err
	}
	leg.Scan = j.describe()
	return nil, nil
}

// begunBuild is what is remembered of a build. While one that was begun may be under way without being seen, the next one does not take its place.
type begunBuild struct {
	At    time.Time `json:"at"`    // of the first
	Asked int       `json:"asked"` // how often the server was asked to build since then
	// Before is what the server held before the first.
	Before serverReading `json:"before,omitzero"`
}

// resume finds out whether the server goes on with a build whose agent was lost. One that has ended meanwhile is none: nobody knows when it did.
func (b *indexBuild) resume(ctx context.Context) error {
	var begun begunBuild
	if there, err := b.job.task.Recall(&begun); err != nil || !there {
		return err
	}
	b.earlier = &begun
	state, err := b.indexer.IndexState(ctx, b.index)
	if err != nil {
		return fmt.Errorf("look for index %s: %w", b.index.Name, err)
	}
	b.resumed = state.Exists && !state.Ready
	return nil
}

// dropLeft removes an index of ours that is there before its build, unless that is gone on with. It is dropped without looking for it first: a
// build that was cut short may have left what is no index yet.
func (b *indexBuild) dropLeft(ctx context.Context) error {
	if b.resumed {
		return nil
	}
	b.job.task.Say("removing what may be left of index " + b.index.Name)
	switch err := b.indexer.DropIndex(ctx, b.index); {
	case errors.Is(err, drivers.ErrNotFound):
		return nil // an earlier build may still be under way, unseen
	case err != nil:
		return fmt.Errorf("drop index %s, which was left: %w", b.index.Name, err)
	}
	b.earlier = nil
	b.job.session.logger.Warn("an index was there before it is built, and was dropped", "index", b.index.Name)
	return nil
}

// build is on the clock.
func (b *indexBuild) build(ctx context.Context) (time.Duration, error) {
	began, err := b.begin(ctx)
	if err != nil {
		return 0, err
	}
	clock := func() *time.Duration { passed := time.Since(began); return &passed }
	for ctx.Err() == nil {
		if err := b.poll(ctx, clock); err != nil {
			if ctx.Err() != nil {
				break
			}
			return 0, err
		}
		if b.serving != nil && (b.correct != nil || !b.compares()) {
			took := *b.serving
			if b.correct != nil {
				took = max(took, *b.correct)
			}
			return took, nil
		}
		waited := time.Since(began)
		b.job.task.Say(fmt.Sprintf("index %s: %v, %s", b.index.Name, waited.Round(100*time.Millisecond), b.waitsFor()))
		select {
		case <-ctx.Done():
		case <-time.After(pollPause(waited)):
		}
	}
	return 0, fmt.Errorf("wait until index %s serves: %s: %w", b.index.Name, b.waitsFor(), ctx.Err())
}

// begin has the server build the index, and returns when that began. Where a lost agent's build is under way without being seen, as an uncommitted
// one of PostgreSQL, the server makes a second one wait for its end, and says then that there is such an index.
func (b *indexBuild) begin(ctx context.Context) (time.Time, error) {
	if b.resumed {
		return b.earlier.At, nil
	}
	begun := begunBuild{At: time.Now(), Asked: 1, Before: b.before}
	if b.earlier != nil {
		begun.At, begun.Asked, begun.Before = b.earlier.At, b.earlier.Asked+1, b.earlier.Before
	}
	if err := b.job.task.Remember(begun); err != nil {
		return time.Time{}, err
	}
	began := time.Now()
	err := b.indexer.CreateIndex(ctx, b.index)
	if errors.Is(err, drivers.ErrExists) && b.earlier != nil {
		b.resumed = true
		return b.earlier.At, nil
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("create index %s: %w", b.index.Name, err)
	}
	passed := time.Since(began)
	b.returned = &passed
	if b.earlier != nil { // which had come to nothing
		return began, b.job.task.Remember(begunBuild{At: began, Asked: 1, Before: b.before})
	}
	return began, nil
}

// waitsFor tells people what is missing.
func (b *indexBuild) waitsFor() string {
	switch {
	case b.serving == nil && b.state.Detail != "":
		return "not ready: " + b.state.Detail
	case b.serving == nil:
		return "not ready"
	case b.wrong != nil:
		return "ready, but its answers are wrong: " + b.wrong.Error()
	}
	return "ready"
}

// poll reads the clocks that have not been read yet.
func (b *indexBuild) poll(ctx context.Context, clock func() *time.Duration) error {
	b.polls++
	if b.serving == nil {
		state, err := b.indexer.IndexState(ctx, b.index)
		if err != nil {
			return fmt.Errorf("ask for the state of index %s: %w", b.index.Name, err)
		}
		b.state = state
		if state.Ready {
			b.serving = clock()
		}
	}
	switch {
	case b.correct != nil || !b.compares():
		return nil
	case b.search != nil:
		return b.trySearch(ctx, clock)
	}
	return b.tryAnswer(ctx, clock)
}

// compares tells whether there is an answer by which the index can be seen to be right.
func (b *indexBuild) compares() bool { return b.search != nil || b.job.scan != nil && b.job.want >= 0 }

// trySearch searches once: the answer is right when it has as many rows as there are to find, and they are rows that match. How near they are is for the
// legs to show.
func (b *indexBuild) trySearch(ctx context.Context, clock func() *time.Duration) error {
	j := b.search
	if j.statements == nil {
		if err := j.prepareStatements(ctx); err != nil {
			return err
		}
	}
	searcher := j.clients[0].(drivers.Searcher)
	var answer drivers.Answer
	if err := searcher.Search(ctx, j.statements[0], j.known.problem.Queries[0], &answer); err != nil {
		return fmt.Errorf("search %s: %w", j.search.ID, err)
	}
	came := clock()
	rows, err := j.session.decodeFound(searcher, j.statements[0], &answer, nil)
	if err != nil {
		return err
	}
	score, want := j.scorer().Score(0, rows), min(int64(j.search.K), j.answer.Matches)
	if j.search.Kind() == query.IVFFlat {
		want = min(want, 1) // the lists that are looked at may hold fewer
	}
	if found := int64(score.Returned - score.Duplicates - score.Foreign); score.Foreign > 0 || found < want {
		b.wrong = fmt.Errorf("%d rows, %d of them twice and %d that are none, where there are %d to find", score.Returned, score.Duplicates, score.Foreign, want)
		return nil
	}
	b.wrong, b.correct, b.compared = nil, came, true
	return nil
}

// tryAnswer runs the scan once. The clock is read when its answer has come; comparing it is not part of it.
func (b *indexBuild) tryAnswer(ctx context.Context, clock func() *time.Duration) error {
	j := b.job
	if j.statements == nil {
		// Some servers plan a statement when it is prepared: not before there is an index to use.
		if err := j.prepareStatements(ctx); err != nil {
			return err
		}
	}
	scanner := j.clients[0].(drivers.Scanner)
	answer := &drivers.Answer{Keep: j.expected != nil && j.keeps > 0}
	if err := scanner.Scan(ctx, j.statements[0], answer); err != nil {
		return fmt.Errorf("scan %s: %w", j.scan.ID, err)
	}
	came := clock()
	if b.wrong = j.compareNumber(j.number(answer), 0); b.wrong == nil && answer.Keep {
		b.wrong = j.check(scanner, j.statements[0], answer, 0)
	}
	if b.wrong == nil {
		b.compared = answer.Keep || j.scan.Project == query.Count
		b.correct = came
	} else {
		j.statements = nil
	}
	return nil
}

// report tells the result what the clocks showed.
func (b *indexBuild) report(leg *result.Leg) {
	d := describeIndex(b.index)
	for _, clock := range []struct {
		read *time.Duration
		to   **int64
	}{{b.returned, &d.ReturnedNs}, {b.correct, &d.CorrectNs}, {b.serving, &d.ServingNs}} {
		if clock.read != nil {
			ns := clock.read.Nanoseconds()
			*clock.to = &ns
		}
	}
	d.How, d.Polls = b.state.How, b.polls
	if b.state.Bytes > 0 {
		d.Bytes = &b.state.Bytes
	}
	b.reportMemory(d)
	if b.correct != nil && b.compared {
		leg.Measured.Checked++
	}
	if b.resumed {
		d.Resumed = true
		d.Note = fmt.Sprintf("the server went on building after the agent was lost: by the machine's clock from %s, when the build began; nobody saw the call return",
			b.earlier.At.UTC().Format(time.RFC3339))
		if b.earlier.Asked > 1 {
			d.Note += fmt.Sprintf("; it was asked %d times, and the build it went on with may be a later one, which took less time", b.earlier.Asked)
		}
	}
	if b.wrong != nil && b.correct == nil {
		d.Note = "the last answer was wrong: " + b.wrong.Error()
	}
	leg.Index = d
}

// reportMemory tells what the server held before the build, and with an index that serves. Of a build that was gone on with, that is before its start, if the
// server is still the same process.
func (b *indexBuild) reportMemory(d *result.Index) {
	after, before := b.job.session.readServer(), b.before
	if b.resumed {
		if before = b.earlier.Before; before.PID != after.PID {
			before = serverReading{Note: "what the server held before the build is not known: its process is not the one that began it"}
		}
	}
	d.MemoryBefore, d.MemoryNote = before.Memory, before.Note
	if b.serving == nil {
		return
	}
	if d.MemoryAfter = after.Memory; d.MemoryNote == "" {
		d.MemoryNote = after.Note
	}
}

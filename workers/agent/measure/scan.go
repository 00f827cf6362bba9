package measure

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/workers/agent"
)

const (
	// largestKept is the largest answer whose rows are kept to be compared between timed operations, in bytes.
	largestKept = 16 << 20
	// keptMemory is what the answers that all workers keep may take together: the others compare numbers only.
	keptMemory = 256 << 20
	// preparersAtOnce is how many clients prepare the statement at the same time.
	preparersAtOnce = 16
)

// scan runs one query over and over. Its answer is checked as a whole before the clock starts, its number of rows on every operation, and its
// content on a sample of them.
func (s *session) scan(ctx context.Context, task agent.Task) agent.Outcome {
	j := &scanJob{session: s, task: task}
	w := work{prepare: j.prepare, worker: j.worker, report: j.report}
	if task.Step.Scan.WriteRatio > 0 {
		j.pairs = newPairs(s.rowsOf(task.Step), s.setup.Spec.Seed)
		rows := s.rowsOf(task.Step)
		w.rows = &rows
		w.verify = j.verifyExchanges
	}
	return s.leg(ctx, task, w)
}

// scanJob is the work of a scan leg.
type scanJob struct {
	session *session
	task    agent.Task

	scan     *query.Scan
	expected *query.Expected // nil when it is not known, or not to be compared
	want     int64           // rows, or the count, of every answer; -1 when it is not known
	keeps    int             // workers that keep answers to compare their content
	// clients are those of the leg: the session may have given them up while an operation still uses one.
	clients    []drivers.Client
	statements []drivers.Statement

	lock    sync.Mutex
	workers []*scanWorker // workers are made several at a time
	pairs   *pairs        // of a leg with exchanges
}

// prepare finds out what the answer has to be, readies the statement on every client and checks a whole answer.
func (j *scanJob) prepare(ctx context.Context, leg *result.Leg) (*refusal, error) {
	s, step := j.session, j.task.Step
	j.clients = s.database.clients
	scan, err := query.Bind(&step.Scan.Query, s.corpus.Template())
	if err != nil {
		return nil, &problem{agent.ErrorSpec, fmt.Errorf("scan %s: %w", step.Scan.Query.ID, err)}
	}
	j.scan = scan
	if err := j.findExpected(ctx); err != nil {
		return nil, err
	}
	leg.Scan = j.describe()
	if index := step.Scan.Indexed; index != nil {
		leg.Index = describeIndex(*index)
		if err := s.ensureIndex(ctx, j.task, *index); err != nil {
			return nil, err
		}
	}
	if err := j.prepareStatements(ctx); err != nil {
		return nil, err
	}
	if index := step.Scan.Indexed; index != nil {
		if leg.Explain, err = j.explain(ctx, *index); err != nil {
			return nil, err
		}
		if uses := leg.Explain.Uses; uses != nil && !*uses {
			return &refusal{
				verdict: result.Invalid, why: "index not used: the server's own plan for the scan does without it", measured: untimed(time.Now()),
			}, nil
		}
	}
	if refused, err := j.checkBefore(ctx, leg); refused != nil || err != nil {
		return refused, err
	}
	if j.pairs != nil {
		s.pairs, s.stirred = j.pairs, nil // not before: what an execution that was lost has exchanged is not known
	}
	return nil, nil
}

// findExpected works out, or looks up, what the scan is to answer.
func (j *scanJob) findExpected(ctx context.Context) error {
	s, scan := j.session, j.task.Step.Scan
	j.want = -1
	if s.verification() == load.VerifyNone {
		return nil
	}
	if scan.Expect != nil {
		j.want = *scan.Expect
	}
	if j.scan.Raw != nil {
		return nil
	}
	answers, err := s.expect(ctx, j.task, []*query.Scan{j.scan})
	if err != nil {
		return err
	}
	j.expected = answers[0]
	if scan.Expect != nil && *scan.Expect != j.expected.Rows {
		return &problem{agent.ErrorSpec, fmt.Errorf("the file expects %d rows of scan %s, and there are %d", *scan.Expect, j.scan.ID, j.expected.Rows)}
	}
	j.want = j.expected.Rows
	if size := j.answerSize(); size <= largestKept {
		j.keeps = int(max(keptMemory/max(size, 1), 1))
	}
	return nil
}

// answerSize is how many bytes an answer takes that is kept, about.
func (j *scanJob) answerSize() int64 {
	s := j.session
	switch {
	case len(j.scan.Aggregates) > 0, j.scan.Project == query.Count:
		return j.expected.Rows
	case j.scan.Project == query.ID:
		return j.expected.Rows * int64(s.setup.Spec.Key.Len()+16)
	default:
		return j.expected.Rows * int64(s.rowSize())
	}
}

// describe tells the result what is scanned.
func (j *scanJob) describe() *result.Scan {
	step := j.task.Step
	d := &result.Scan{
		Projection: string(j.scan.Project), Context: "heap", Rows: j.session.rowsOf(step), Raw: j.scan.Raw != nil, WriteRatio: step.Scan.WriteRatio,
	}
	if len(j.scan.Aggregates) > 0 {
		d.Projection = "aggregate"
	}
	if step.Scan.Indexed != nil {
		d.Context = "indexed"
	}
	if j.expected != nil {
		d.Matching = &j.expected.Matches
	}
	if j.want >= 0 {
		d.Expected = &j.want
	}
	return d
}

// prepareStatements readies the scan on the clients that run it.
func (j *scanJob) prepareStatements(ctx context.Context) error {
	clients := j.clients[:max(j.task.Step.Clients, 1)]
	j.statements = make([]drivers.Statement, len(clients))
	j.task.Say("preparing the scan")
	group, preparing := errgroup.WithContext(ctx)
	group.SetLimit(preparersAtOnce)
	for i, client := range clients {
		scanner, ok := client.(drivers.Scanner)
		if !ok {
			return drivers.Unsupported{Why: j.session.engine.Title + " has no scans here"}
		}
		group.Go(func() (err error) {
			if j.statements[i], err = scanner.PrepareScan(preparing, j.scan); err != nil {
				return fmt.Errorf("prepare scan %s on client %d: %w", j.scan.ID, i+1, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// explain asks the server whether the scan uses the index.
func (j *scanJob) explain(ctx context.Context, index query.Index) (*result.Explanation, error) {
	explainer, ok := j.clients[0].(drivers.Explainer)
	if !ok {
		return &result.Explanation{Note: j.session.engine.Title + " does not tell how it runs a scan: that it uses the index could not be proven"}, nil
	}
	j.task.Say("asking for the server's plan")
	explanation, err := explainer.Explain(ctx, j.scan, index)
	if err != nil {
		return nil, fmt.Errorf("ask %s how it runs scan %s: %w", j.session.where(), j.scan.ID, err)
	}
	return &result.Explanation{Text: explanation.Text, Uses: &explanation.Uses}, nil
}

// checkBefore checks the whole answer once, row by row, before the clock starts.
func (j *scanJob) checkBefore(ctx context.Context, leg *result.Leg) (*refusal, error) {
	if j.want < 0 {
		return nil, nil
	}
	j.task.Say("checking a whole answer")
	began := time.Now()
	whole, err := j.wholeAnswer(ctx)
	if err != nil {
		return nil, err
	}
	m := untimed(began)
	m.WholeCheck = &result.WholeCheck{Rows: whole.rows, Wrong: whole.wrong, TookNs: time.Since(began).Nanoseconds()}
	m.Checked = 1
	if whole.wrong == 0 {
		leg.Measured = m
		return nil, nil
	}
	m.Wrong, m.Examples = 1, whole.examples
	verdict, why := result.VerdictOf(result.Facts{Measured: m})
	return &refusal{verdict: verdict, why: "before the clock started: " + why, measured: m}, nil
}

// untimed is what is said of a leg that was not timed.
func untimed(began time.Time) *result.Measured {
	const note = "the leg was not timed"
	return &result.Measured{Started: began.UTC(), Intervals: []result.Interval{}, ServerNote: note, AgentNote: note}
}

// mostWrong is how many things may be wrong with one answer before looking on would show nothing new.
const mostWrong = 1000

// answerCheck is the check of one answer as it comes.
type answerCheck struct {
	rows, wrong int64
	examples    []result.Mismatch
}

// errEnough ends a scan whose answer is wrong all over.
var errEnough = errors.New("enough is wrong")

// note counts something wrong; any other error is returned.
func (a *answerCheck) note(err error) error {
	if err == nil {
		return nil
	}
	wrong, ok := errors.AsType[*query.Wrong](err)
	if !ok {
		return err
	}
	if a.wrong++; len(a.examples) < 5 {
		a.examples = append(a.examples, result.Mismatch(*mismatchOf(wrong)))
	}
	if a.wrong >= mostWrong {
		return errEnough
	}
	return nil
}

// wholeAnswer runs the scan once and checks all of its answer as it comes.
func (j *scanJob) wholeAnswer(ctx context.Context) (*answerCheck, error) {
	scanner := j.clients[0].(drivers.Scanner)
	// The check takes some microseconds a row besides.
	ctx, cancel := j.session.bounded(ctx, time.Duration(max(j.want, 0))*20*time.Microsecond)
	defer cancel()
	check := &answerCheck{}
	answer := &drivers.Answer{}
	if j.expected == nil || j.scan.Project == query.Count && len(j.scan.Aggregates) == 0 {
		if err := scanner.Scan(ctx, j.statements[0], answer); err != nil {
			return nil, fmt.Errorf("check the answer of scan %s: %w", j.scan.ID, err)
		}
		check.rows = j.number(answer)
		return check, check.note(j.compareNumber(check.rows, 0))
	}
	checker, err := j.session.dataset(j.task).Checker(j.scan, j.expected, nil)
	if err != nil {
		return nil, err
	}
	answer.Keep = true
	if len(j.scan.Aggregates) == 0 {
		answer.Each = func() error {
			return scanner.DecodeScan(j.statements[0], answer, j.decoded(func(err error) error { return check.note(err) }, checker))
		}
	}
	err = scanner.Scan(ctx, j.statements[0], answer)
	check.rows = answer.Rows
	switch {
	case errors.Is(err, errEnough):
		return check, nil
	case err != nil:
		return nil, fmt.Errorf("check the answer of scan %s: %w", j.scan.ID, err)
	case len(j.scan.Aggregates) > 0:
		groups, err := scanner.DecodeGroups(j.statements[0], answer)
		if err != nil {
			return nil, fmt.Errorf("check the answer of scan %s: %w", j.scan.ID, err)
		}
		err = check.note(checker.Groups(groups))
		return check, err
	}
	if err := check.note(checker.Done()); err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	return check, nil
}

package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/durabench/durabench/bench/load"
	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/result"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/workers/agent"
)

// work is what differs between the kinds of legs.
type work struct {
	// prepare makes the leg ready once the database is, off the clock, and fills in what is known of the leg before; nil when there is nothing
	// to do. A refusal is why the leg is not timed.
	prepare func(ctx context.Context, leg *result.Leg) (*refusal, error)
	// worker makes the worker of one client's thread.
	worker func(client int) load.Worker
	// kinds names the kinds of operations of workers that sort them.
	kinds []string
	// report fills in what the workers know of a leg that has been run, nil when they know nothing more.
	report func(measured *load.Result, leg *result.Leg)
	// verify checks, off the clock, what else the leg has left; nil when there is nothing else. When it succeeds, the server was asked.
	verify func(ctx context.Context, leg *result.Leg) error
	// checksLater tells that answers are not checked while the leg runs: what is written is checked after it.
	checksLater bool
	// checksAll tells that every answer is looked at, unless none is to be.
	checksAll bool
	// back says how what was written is checked after the leg; nil for legs that write nothing.
	back *readback
	// rows is how many rows there must be after the leg when none of its operations failed; nil when they are not counted.
	rows *int64
	// adds and removes tell that an operation changes the number of rows.
	adds, removes bool
	// doubtful are the rows on which writing operations of the leg failed, which may have been carried out or not; nil when it has none.
	doubtful *touched
}

// refusal is why a leg is not timed.
type refusal struct {
	verdict  result.Verdict
	why      string
	measured *result.Measured // what was found before; nil when the verdict has none
}

// leg runs one timed leg and judges it.
func (s *session) leg(ctx context.Context, task agent.Task, w work) agent.Outcome {
	if err := s.ready(ctx, task); err != nil {
		return failed(task, err)
	}
	leg := legOf(task.Step)
	if w.prepare != nil {
		refused, err := w.prepare(ctx, &leg)
		if err != nil {
			return failed(task, err)
		}
		if refused != nil {
			leg.Verdict, leg.Why, leg.Measured = refused.verdict, refused.why, refused.measured
			return agent.Outcome{Leg: &leg}
		}
	}
	run, err := s.loadLeg(task, w)
	if err != nil {
		return failed(task, err)
	}
	return s.measure(ctx, task, w, leg, func(ctx context.Context) (*load.Result, error) {
		return load.Run(ctx, run, func(client, _ int) (load.Worker, error) { return w.worker(client), nil })
	})
}

// unendingKeys is how many operations a windowed leg numbers before it begins again: it never does.
const unendingKeys = 1 << 62

// loadLeg says what to run.
func (s *session) loadLeg(task agent.Task, w work) (load.Leg, error) {
	step, spec := task.Step, s.setup.Spec
	leg := load.Leg{
		Clients: step.Clients, Threads: step.Threads, Samples: step.Samples,
		OperationTimeout: time.Duration(spec.OperationTimeout), MaxErrorRate: spec.MaxErrorRate,
		Verify: s.verification(), Classify: classify, Progress: task.Progress, Kinds: w.kinds,
	}
	if w.checksLater {
		leg.Verify = load.VerifyNone
	}
	if w.checksAll && leg.Verify != load.VerifyNone {
		leg.Verify = load.VerifyAll
	}
	if t := step.Timing; t != nil {
		leg.Warmup, leg.Window, leg.Keys = time.Duration(t.Warmup), time.Duration(t.Window), unendingKeys
		leg.MinSamples, leg.MaxSamples = t.MinSamples, t.MaxSamples
	}
	if step.Rate != nil {
		schedule, err := load.NewSchedule(step.Rate.PerSecond, step.Rate.Poisson, spec.Seed)
		if err != nil {
			return leg, &problem{agent.ErrorSpec, err}
		}
		leg.Pacing = schedule
	}
	return leg, nil
}

// measure runs what a leg measures, watches the machine meanwhile, checks afterwards what was written, and judges the leg.
func (s *session) measure(
	ctx context.Context, task agent.Task, w work, leg result.Leg, run func(context.Context) (*load.Result, error),
) agent.Outcome {
	facts := s.facts(task, &leg)
	// Until a leg that writes has come to its end, the data is in no state that a later leg may rely on.
	s.trusted = task.Step.Effect == plan.ReadOnly

	task.Say("")
	before := leg.Measured // of what was done before the clock
	usage := s.sample()
	retried := s.database.retries()
	measured, err := run(ctx)
	serverUsage, serverNote, agentUsage, agentNote := usage.stop()
	if measured != nil && measured.Stopped == load.StoppedStuck {
		s.forsake()
	}
	if measured == nil {
		if err == nil {
			err = errors.New("the leg came to nothing")
		}
		return failed(task, err)
	}
	facts.Cancelled = ctx.Err() != nil
	if err != nil && !facts.Cancelled {
		facts.Error = err.Error()
	}

	leg.Measured, err = result.MeasuredFrom(measured)
	if err != nil {
		return failed(task, fmt.Errorf("record the leg: %w", err))
	}
	leg.Measured.Server, leg.Measured.ServerNote = serverUsage, serverNote
	leg.Measured.Agent, leg.Measured.AgentNote = agentUsage, agentNote
	leg.Measured.Retries = retried()
	s.addWork(task.Step, measured, before, &leg)
	if w.report != nil {
		w.report(measured, &leg)
	}
	if measured.Stopped == "" && facts.Error == "" && !facts.Cancelled {
		if err := s.verify(ctx, task, w, &leg); err != nil {
			facts.Error, facts.Cancelled = err.Error(), ctx.Err() != nil
		} else {
			facts.Told = w.verify != nil
		}
	}
	facts.Measured = leg.Measured
	leg.Verdict, leg.Why = result.VerdictOf(facts)
	if holds(leg.Verdict) {
		s.trusted = true
	}
	return agent.Outcome{Leg: &leg}
}

// addWork adds what follows from the step and from what was done before the clock.
func (s *session) addWork(step plan.Step, measured *load.Result, before *result.Measured, leg *result.Leg) {
	m := leg.Measured
	if before != nil {
		m.WholeCheck = before.WholeCheck
		m.Checked += before.Checked
	}
	if m.OpenLoop != nil {
		m.OpenLoop.Offered, m.OpenLoop.Arrival = step.Rate.PerSecond, "constant"
		if step.Rate.Poisson {
			m.OpenLoop.Arrival = "poisson"
		}
	}
	if step.Timing != nil {
		m.Steady = result.SteadyFrom(measured)
	}
}

// forsake gives up a database whose client does not come back from an operation. Closing it may hang as well, so nobody waits for that.
func (s *session) forsake() {
	db := s.database
	s.database, s.trusted = nil, false
	go func() {
		if err := db.close(); err != nil {
			s.logger.Warn("close a database with an operation that does not end", "error", err)
		}
	}()
}

// verify makes sure, off the clock, that what a leg wrote is there.
func (s *session) verify(ctx context.Context, task agent.Task, w work, leg *result.Leg) error {
	m := leg.Measured
	if w.rows != nil {
		task.Say("counting the rows")
		rows, err := s.database.count(ctx)
		if err != nil {
			return err
		}
		if rows != nil {
			low, high := *w.rows, *w.rows
			switch {
			case w.adds:
				low -= w.doubtful.count()
			case w.removes:
				high += w.doubtful.count()
			}
			m.RowsAfter, m.RowsWanted = rows, wantedAfter(*w.rows, *rows, low, high)
		}
	}
	if w.back != nil {
		back := *w.back
		back.doubtful = w.doubtful
		task.Say("reading rows back")
		found, err := s.readBack(ctx, back, s.verification())
		found.into(m)
		if err != nil {
			return err
		}
	}
	if w.verify != nil {
		return w.verify(ctx, leg)
	}
	return nil
}

// into adds what was found to a leg's.
func (f findings) into(m *result.Measured) {
	m.ReadBack += f.checked
	m.Checked += f.checked
	m.Wrong += f.wrong
	for _, example := range f.examples {
		m.Examples = append(m.Examples, result.Mismatch(example))
	}
}

// wantedAfter is how many rows there must be after a leg. Of operations that failed nobody knows whether they were carried out, so where these
// add or remove rows every number in a range is right; the one that was counted is taken when it is in it.
func wantedAfter(want, counted, low, high int64) *int64 {
	if low <= counted && counted <= high {
		want = counted
	}
	return &want
}

// facts gathers what is known of a leg before it runs.
func (s *session) facts(task agent.Task, leg *result.Leg) result.Facts {
	spec := s.setup.Spec
	cores := float64(host.Resources().CPUs)
	calibrates := s.engine.Family == drivers.FamilyCalibration
	facts := result.Facts{
		Planned: task.Step.Samples, InFlight: task.Step.Clients * task.Step.Threads,
		Proof: proofOf(task.Step, leg), Explain: leg.Explain, Search: leg.Search, VerifyOff: spec.Verify == load.VerifyNone,
		Calibrates: calibrates, Embedded: s.setup.Server == string(drivers.Embedded),
		AgentCPUs: cores, Calibration: s.calibration,
	}
	if s.setup.ServerPID != 0 {
		facts.ServerCPUs = cores
	}
	if calibrates {
		facts.Proof = result.Proof{} // nothing is stored, so nothing can be proven
	}
	return facts
}

// proofOf returns what must be known before the leg's answers count as right.
func proofOf(step plan.Step, leg *result.Leg) result.Proof {
	switch {
	case (step.Kind == plan.ScanLeg || step.Kind == plan.IndexBuild) && leg.Scan != nil:
		return result.ProofOfScan(leg.Scan, step.Scan.Expect != nil)
	case step.Kind == plan.SearchLeg, step.Kind == plan.IndexBuild && step.Search != nil:
		return result.ProofOfSearch()
	case step.Kind == plan.BatchLeg && leg.Batch != nil:
		return result.ProofOfBatch(leg.Batch)
	case step.Kind == plan.MixLeg:
		return result.Proof{Content: true, Count: step.Effect != plan.ReadOnly}
	}
	return result.ProofOf(string(step.Kind))
}

// verification says which answers are checked: as asked, and none of an engine that stores nothing.
func (s *session) verification() load.Verify {
	switch {
	case s.engine.Family == drivers.FamilyCalibration:
		return load.VerifyNone
	case s.setup.Spec.Verify == "":
		return load.VerifySample
	default:
		return s.setup.Spec.Verify
	}
}

// classify names the class of an operation's error.
func classify(err error) string { return string(drivers.ErrorClassOf(err)) }

// holds tells whether a leg with this verdict has left the data in the state that its step says.
func holds(verdict result.Verdict) bool {
	switch verdict {
	case result.Valid, result.GeneratorLimited, result.Overloaded, result.Unverified:
		return true
	default:
		return false
	}
}

// samplers watch what a leg uses of the machine.
type samplers struct {
	server, agent *host.Sampler
	serverNote    string
	tuning        tuning
}

// sample begins to watch the database's processes and, apart from them, this one. The agent's own sampler starts last and stops first:
// looking at the server costs the agent time in which it measures nothing and would look less busy than it was.
func (s *session) sample() *samplers {
	watch := &samplers{tuning: s.tuning, serverNote: s.noServer()}
	if watch.serverNote == "" {
		watch.server = host.Start(s.setup.ServerPID, host.Exclude(os.Getpid()))
	}
	watch.agent = host.StartSelf()
	return watch
}

// noServer says why there is no process of the database's to look at; "" when there is one.
func (s *session) noServer() string {
	switch {
	case s.setup.ServerPID != 0:
		return ""
	case s.setup.Server == string(drivers.Embedded):
		return "the database runs inside the agent: what both use is one number, the agent's"
	default:
		return "the server was not started by us: what it uses is not known"
	}
}

// serverMemory is what the database's processes hold now; where that is not known, the note says why.
func (s *session) serverMemory() (held *result.Memory, note string) {
	if why := s.noServer(); why != "" {
		return nil, why
	}
	return host.Memory(s.setup.ServerPID, host.Exclude(os.Getpid()))
}

// stop ends watching.
func (w *samplers) stop() (server *result.Usage, serverNote string, agent *result.Usage, agentNote string) {
	agent, agentNote = w.agent.Stop()
	server, serverNote = nil, w.serverNote
	if w.server != nil {
		server, serverNote = w.server.Stop()
	}
	settings := w.tuning.String()
	if agentNote != "" {
		settings = fmt.Sprintf("%s; %s", settings, agentNote)
	}
	return server, serverNote, agent, settings
}

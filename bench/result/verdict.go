package result

import (
	"fmt"
	"math"
	"strings"

	"github.com/dustin/go-humanize"

	"github.com/durabench/durabench/bench/load"
)

// When the harness counts as the limit of a leg.
const (
	busyAgent   = 0.90 // share of the CPUs it could use that the agent used, from which on it had nothing left to give,
	idleServer  = 0.50 // while the server used less than this share of its own
	harnessCost = 0.20 // share of the CPU time each operation took that is the harness's own cost
	lateAgent   = 0.50 // share of the operations of a rate that was not kept that began late with a worker free for them
	throttled   = 0.02 // share of a leg in which the agent was kept off the CPUs by its control group: its stalls are then in the latencies
)

// Proof says what must be known before a leg's answers count as right.
type Proof struct {
	Content bool // at least one answer, or row written, must have been compared with what was meant
	Count   bool // the rows after the leg must have been counted and be as many as there must be
	Told    bool // the server itself must have been asked afterwards, and have said that what was to be done is done
}

// ProofOf returns the proof that a kind of leg needs. A read proves itself: its answers are compared by content. A create and an update
// answer nothing that could be wrong, so rows they wrote are read after the leg, and all rows counted; a delete is proved by the count
// alone. A kind that it does not know needs nothing, and is never more than unverified.
func ProofOf(kind string) Proof {
	switch kind {
	case "read":
		return Proof{Content: true}
	case "create", "update":
		return Proof{Content: true, Count: true}
	case "delete":
		return Proof{Count: true}
	case "index-drop":
		return Proof{Told: true}
	}
	return Proof{}
}

// ProofOfScan returns the proof that a scan leg, or the build of the index that it uses, needs: answers are compared with the expected one, of which expect says whether the file
// gives at least its number of rows. Of a scan in the engine's own words without that nothing is known, and it is never more than unverified.
func ProofOfScan(s *Scan, expect bool) Proof {
	return Proof{Content: !s.Raw || expect}
}

// ProofOfBatch returns the proof that a batch leg needs: that of the same operation on single rows.
func ProofOfBatch(b *Batch) Proof { return ProofOf(b.Operation) }

// Facts is everything that a leg's verdict follows from.
type Facts struct {
	Planned   int64     // operations asked for; 0 in a windowed leg
	InFlight  int       // clients × threads
	Measured  *Measured // nil when the leg came to nothing
	Cancelled bool      // the leg was told to stop before its end
	Error     string    // why the leg as a whole failed, where it is not the operations' errors
	Proof     Proof     // what the answers need to count as right
	Told      bool      // the server has said so, see Proof.Told
	VerifyOff bool      // the user asked for no verification by content
	// Calibrates tells that the harness itself is what is measured (the calibration leg, the dry engine): it cannot be limited by itself,
	// and without a Proof it is not unverified either.
	Calibrates bool
	// Embedded tells that the database runs inside the agent. A busy agent then says nothing about who the limit was; the share of the
	// harness in each operation still does.
	Embedded bool
	// Search is what a search leg asked for; nil for other legs.
	Search *Search
	// Explain is the server's plan for a scan that is to use an index; nil for other legs.
	Explain     *Explanation
	AgentCPUs   float64      // CPU cores that the agent may use; 0 when not known
	ServerCPUs  float64      // CPU cores that the server may use; 0 when not known
	Calibration *Calibration // nil when it was not measured
}

// VerdictOf judges a leg from its facts and says why in plain words. It takes the first of these that is true:
//
//   - invalid: an answer was wrong;
//   - interrupted: the leg was cancelled;
//   - failed: it came to nothing, was stopped, spent its error budget, did fewer operations than planned, or none succeeded;
//   - invalid: there are other rows in the database than there must be, or rows were wrong that exchanges have written;
//   - invalid: the server's plan does not use the index that the leg is about;
//   - invalid: a search found rows that are none, or was to be exact and was not;
//   - generator-limited: the agent used at least 90 % of the CPUs it may use while the server used less than 50 % of its own (not
//     for embedded engines), or the harness's own cost is at least 20 % of the CPU time that each operation took, or a rate was not kept
//     and at least half of the operations began late with a worker free for them;
//   - overloaded: a rate was not kept (see OpenLoop.Kept);
//   - unverified: its Proof is missing in part;
//   - valid.
//
// No more CPUs count than operations are in flight: a single worker cannot keep sixteen busy, neither here nor in the server. The
// reason of a valid leg is empty, or tells of failures within the error budget and of requests that were sent again.
func VerdictOf(f Facts) (Verdict, string) {
	m := f.Measured
	switch {
	case m != nil && m.Wrong > 0:
		return Invalid, whyWrong(m)
	case f.Cancelled, m != nil && m.Stopped == load.StoppedCancelled:
		return Interrupted, whyInterrupted(f)
	case f.Error != "":
		return Failed, join(f.Error, firstError(m))
	case m == nil:
		return Failed, "nothing was measured"
	case m.OverBudget, m.Stopped != "":
		return Failed, join(firstError(m), m.Stopped, whyCounts(m))
	case m.OK == 0:
		return Failed, join("no operation succeeded", firstError(m))
	case m.OK+m.Failed < f.Planned:
		return Failed, fmt.Sprintf("only %s of %s operations were done, and nothing says why", comma(m.OK+m.Failed), comma(f.Planned))
	case m.miscounted():
		return Invalid, fmt.Sprintf("the database holds %s rows after the leg where there must be %s", comma(*m.RowsAfter), comma(*m.RowsWanted))
	}
	if x := m.Exchanges; x != nil && x.Wrong > 0 {
		return Invalid, fmt.Sprintf("%s of %s rows that exchanges had written were wrong afterwards", comma(x.Wrong), comma(x.Checked))
	}
	if f.Explain != nil && f.Explain.Uses != nil && !*f.Explain.Uses {
		return Invalid, "index not used: the server's own plan for the scan does without it"
	}
	if why := whySearch(f.Search, m.Recall); why != "" {
		return Invalid, why
	}
	unverified := whyUnverified(f)
	if why := whyGeneratorLimited(f); why != "" {
		return GeneratorLimited, join(why, unverified)
	}
	if why := whyOverloaded(f); why != "" {
		return Overloaded, join(why, unverified)
	}
	if unverified != "" {
		return Unverified, unverified
	}
	return Valid, join(whyFailures(m), whyRetries(m))
}

// whyFailures tells of operations that failed within the error budget.
func whyFailures(m *Measured) string {
	if m.Failed == 0 {
		return ""
	}
	return join(whyCounts(m)+", within the error budget", firstError(m))
}

// whyRetries tells of requests that were sent again.
func whyRetries(m *Measured) string {
	if m.Retries == nil || *m.Retries == 0 {
		return ""
	}
	return fmt.Sprintf("%s requests were sent again within their operations, as the server asked after conflicts", comma(*m.Retries))
}

func whyWrong(m *Measured) string {
	why := fmt.Sprintf("%s of %s answers checked were wrong", comma(m.Wrong), comma(m.Checked))
	if len(m.Examples) == 0 {
		return why
	}
	e := m.Examples[0]
	where := fmt.Sprintf("row %d", e.Index)
	if e.Whole {
		where = e.Column
	} else if e.Column != "" {
		where += ", column " + e.Column
	}
	return join(why, fmt.Sprintf("%s: want %s, got %s", where, e.Want, e.Got))
}

func whyInterrupted(f Facts) string {
	if f.Measured == nil {
		return "cancelled before anything was measured"
	}
	done := comma(f.Measured.OK + f.Measured.Failed)
	if f.Planned > 0 {
		return fmt.Sprintf("cancelled after %s of %s operations", done, comma(f.Planned))
	}
	return fmt.Sprintf("cancelled after %s operations", done)
}

// firstError returns the first text of the most frequent class of errors. Operations that were cut off when the leg was given up come
// last: they are the consequence.
func firstError(m *Measured) string {
	if m == nil {
		return ""
	}
	text := func(class ErrorCount) string {
		if len(class.Texts) == 0 {
			return "first error: " + class.Class
		}
		return fmt.Sprintf("first error: %s: %s", class.Class, class.Texts[0])
	}
	for _, class := range m.Errors {
		if class.Class != load.ClassCancelled {
			return text(class)
		}
	}
	for _, class := range m.Errors {
		return text(class)
	}
	return ""
}

func whyCounts(m *Measured) string {
	return fmt.Sprintf("%s of %s operations failed", comma(m.Failed), comma(m.OK+m.Failed))
}

func whyUnverified(f Facts) string {
	m := f.Measured
	switch {
	case f.Proof == Proof{}:
		if f.Calibrates {
			return ""
		}
		return "nothing is known by which the answers of this leg could be checked"
	case f.Proof.Content && f.VerifyOff:
		return "answers were not checked, as asked"
	case f.Proof.Content && m.Checked == 0:
		return "no answer was checked"
	case f.Proof.Count && (m.RowsAfter == nil || m.RowsWanted == nil):
		return "the rows were not counted after the leg"
	case f.Proof.Told && !f.Told:
		return "the server was not asked afterwards"
	}
	return ""
}

// Kept tells whether the rate was, of a leg that did so many operations with inFlight at most at once: at least 95 % of those that were due
// were begun, operations succeeded at 95 % of the rate or more (less what chance does to a Poisson arrival: three standard deviations), and
// no more were waiting at the end than are in flight, or 1 % of all. Nil, a closed loop, has no rate to keep.
func (o *OpenLoop) Kept(done int64, inFlight int) bool {
	if o == nil || done == 0 {
		return true
	}
	slack := 0.05
	if o.Arrival == "poisson" {
		slack += 3 / math.Sqrt(float64(done))
	}
	begun := float64(done) / float64(done+o.Dropped)
	return begun >= 0.95 && o.Achieved >= o.Offered*(1-slack) && o.Backlog <= max(int64(inFlight), int64(0.01*float64(done)))
}

func whyOverloaded(f Facts) string {
	m := f.Measured
	o := m.OpenLoop
	if o.Kept(m.OK+m.Failed, f.InFlight) {
		return ""
	}
	return fmt.Sprintf("the rate was not sustained: %s operations per second offered, %s achieved, backlog growing by %s per second, %s never started",
		figure(o.Offered), figure(o.Achieved), figure(o.Slope), comma(o.Dropped))
}

func whyGeneratorLimited(f Facts) string {
	m := f.Measured
	if f.Calibrates {
		return ""
	}
	// With an embedded engine it is the database that was kept off the CPUs, as it would be wherever it ran there.
	if !f.Embedded && m.Agent != nil && m.Agent.Group != nil && m.Agent.Group.ThrottledSeconds != nil {
		if wall, off := float64(m.WallNs)/1e9, *m.Agent.Group.ThrottledSeconds; off >= throttled*wall {
			return fmt.Sprintf("the agent's threads together were kept off the CPUs for %s s in %s s, because the quota of its control group was used up", figure(off), figure(wall))
		}
	}
	if o := m.OpenLoop; !o.Kept(m.OK+m.Failed, f.InFlight) && o.AgentLate != nil && *o.AgentLate >= lateAgent {
		return fmt.Sprintf("the rate of %s operations per second was not kept, and %.0f %% of them began late although a worker was free for them",
			figure(o.Offered), 100**o.AgentLate)
	}
	if f.AgentCPUs <= 0 {
		return ""
	}
	usable := min(f.AgentCPUs, float64(max(f.InFlight, 1)))
	if !f.Embedded && m.Agent != nil && m.Agent.CPUCores != nil && *m.Agent.CPUCores >= busyAgent*usable {
		busy := fmt.Sprintf("the agent used %.2f of the %s CPU cores it could", *m.Agent.CPUCores, cores(usable))
		if m.Server == nil || m.Server.CPUCores == nil || f.ServerCPUs <= 0 {
			return busy + ", and what the server used is not known"
		}
		if theirs := min(f.ServerCPUs, float64(max(f.InFlight, 1))); *m.Server.CPUCores < idleServer*theirs {
			return fmt.Sprintf("%s while the server used %.2f of %s", busy, *m.Server.CPUCores, cores(theirs))
		}
	}
	if f.Calibration != nil {
		// The CPU time that was there for each operation, whoever used it.
		perOp := float64(m.WallNs) * usable / float64(m.OK+m.Failed)
		if cost := f.Calibration.NsPerOp; cost >= harnessCost*perOp {
			return fmt.Sprintf("the harness's own cost, %s ns, is %.0f %% of the %s ns of CPU time that each operation took",
				figure(cost), 100*cost/perOp, figure(perOp))
		}
	}
	return ""
}

// join puts the parts of a reason together, leaving out empty ones.
func join(parts ...string) string {
	var kept []string
	for _, part := range parts {
		if part != "" {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "; ")
}

func comma(n int64) string { return humanize.Comma(n) }

// cores writes a number of CPU cores without needless decimals.
func cores(n float64) string { return humanize.Ftoa(n) }

package workflows

import (
	"slices"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/durabench/durabench/activities"
)

// LeaseID is the id of the workflow that says who has a host for itself.
func LeaseID(host string) string { return "host/" + host }

// The messages of a lease.
const (
	// SignalAcquire queues the Claim that it carries.
	SignalAcquire = "acquire"
	// SignalRelease gives the host back, or leaves the queue: the Claim that it carries is over.
	SignalRelease = "release"
	// SignalPlace tells a workflow its Place in the queue, at last that the host is its own.
	SignalPlace = "place"
	// QueryLease is the query that a HostLease answers with an activities.LeaseState.
	QueryLease = "lease"
)

// Priority orders the claims to a host. Within one, who came first is served first; a run that has begun is never interrupted.
type Priority string

// The priorities, the first served first. An empty one is interactive.
const (
	PriorityGate        Priority = "gate"        // somebody's release waits for it
	PriorityInteractive Priority = "interactive" // somebody looks at it
	PriorityNightly     Priority = "nightly"     // nobody is awake
)

// rank is a priority's order; what is not known comes last.
func (p Priority) rank() int {
	switch p {
	case PriorityGate:
		return 0
	case PriorityInteractive, "":
		return 1
	default:
		return 2
	}
}

// Place is where a claim stands.
type Place struct {
	Granted bool `json:"granted,omitempty"`
	// Ahead counts the runs that come before, the one that has the host included.
	Ahead int `json:"ahead,omitempty"`
	// Holder is the id of the workflow that has the host.
	Holder string `json:"holder,omitempty"`
}

const (
	// probeWaited is how often the holder is looked for while somebody waits: a host whose holder was terminated is free that soon.
	probeWaited = 5 * time.Second
	// probeAlone is the same while nobody waits. A new claim has the holder looked for at once.
	probeAlone = 30 * time.Second
)

// leaseEvents is the length of history from which on a lease goes on as a new execution. Tests make it short. To make it shorter in a release
// takes workflow.GetVersion: leases that are under way would not replay.
var leaseEvents = 1000

// lease is the state of a HostLease.
type lease struct {
	activities.LeaseState
	acquire, release workflow.ReceiveChannel
	// told is what each waiting claim was told last.
	told map[activities.Execution]Place
	// probe tells that the holder is to be looked for.
	probe bool
}

// leases refers to the local activities of a lease.
var leases *activities.Lease

// HostLease grants a host to one workflow at a time: by priority, and in the order of their claims within one. It is started by the first
// claim and ends when the host is free and nobody waits.
//
// A holder frees the host by SignalRelease. One that ended without it, terminated or timed out, is found by looking: within probeWaited
// when somebody waits. A claim whose workflow has ended leaves the queue the same way. No claim is lost when the lease goes on as a new
// execution: both channels are emptied into the state that is carried on, and the server refuses the end of an execution to which signals
// came meanwhile.
func HostLease(ctx workflow.Context, state activities.LeaseState) error {
	// Who wants the lease gone has to terminate it; a cancelled one would leave its waiters behind.
	ctx, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	l := &lease{
		LeaseState: state, told: map[activities.Execution]Place{},
		acquire: workflow.GetSignalChannel(ctx, SignalAcquire), release: workflow.GetSignalChannel(ctx, SignalRelease),
	}
	err := workflow.SetQueryHandler(ctx, QueryLease, func() (activities.LeaseState, error) { return l.LeaseState, nil })
	if err != nil {
		return err
	}
	for {
		l.drain(ctx)
		if l.probe {
			l.dropEnded(ctx)
		}
		l.grant(ctx)
		l.tellPlaces(ctx)
		if l.drain(ctx) {
			continue
		}
		// From here to a return nothing blocks, so no signal slips between.
		switch {
		case l.Holder == nil && len(l.Waiting) > 0:
			continue
		case l.Holder == nil:
			return nil
		case workflow.GetInfo(ctx).GetCurrentHistoryLength() >= leaseEvents:
			return workflow.NewContinueAsNewError(ctx, HostLease, l.LeaseState)
		}
		if err := l.wait(ctx); err != nil {
			return err
		}
	}
}

// drain takes in every signal that has arrived, and tells whether there was one. A claim and its release are taken in in this order.
func (l *lease) drain(ctx workflow.Context) (any bool) {
	for {
		var claim activities.Claim
		switch {
		case l.acquire.ReceiveAsync(&claim):
			l.enqueue(ctx, claim)
		case l.release.ReceiveAsync(&claim):
			l.drop(claim.Execution)
		default:
			return any
		}
		any = true
	}
}

// enqueue puts a claim behind all of its priority. Who asks again is told again where it stands.
func (l *lease) enqueue(ctx workflow.Context, claim activities.Claim) {
	// The holder may have ended since it was last looked for.
	l.probe = l.Holder != nil
	delete(l.told, claim.Execution)
	switch {
	case l.Holder != nil && l.Holder.Execution == claim.Execution:
		l.tell(ctx, claim.Execution, Place{Granted: true})
		return
	case slices.ContainsFunc(l.Waiting, func(c activities.Claim) bool { return c.Execution == claim.Execution }):
		return
	}
	at := slices.IndexFunc(l.Waiting, func(c activities.Claim) bool { return Priority(c.Priority).rank() > Priority(claim.Priority).rank() })
	if at < 0 {
		at = len(l.Waiting)
	}
	l.Waiting = slices.Insert(l.Waiting, at, claim)
}

// drop frees the host if the execution has it, and takes it out of the queue if it waits.
func (l *lease) drop(e activities.Execution) {
	if l.Holder != nil && l.Holder.Execution == e {
		l.Holder = nil
	}
	l.Waiting = slices.DeleteFunc(l.Waiting, func(c activities.Claim) bool { return c.Execution == e })
	delete(l.told, e)
}

// grant gives a free host to the first in the queue that is still there to take it.
func (l *lease) grant(ctx workflow.Context) {
	for l.Holder == nil && len(l.Waiting) > 0 {
		next := l.Waiting[0]
		next.Since = workflow.Now(ctx)
		l.Waiting, l.Holder = l.Waiting[1:], &next
		delete(l.told, next.Execution)
		l.tell(ctx, next.Execution, Place{Granted: true})
		l.drain(ctx)
	}
}

// tellPlaces tells everybody who waits where it stands, if that has changed.
func (l *lease) tellPlaces(ctx workflow.Context) {
	if l.Holder == nil {
		return
	}
	type telling struct {
		claim activities.Execution
		done  workflow.Future
	}
	var all []telling // at once, as each takes a turn of the server
	for i, claim := range l.Waiting {
		place := Place{Ahead: i + 1, Holder: l.Holder.Workflow}
		if l.told[claim.Execution] != place {
			l.told[claim.Execution] = place
			all = append(all, telling{claim.Execution, signalPlace(ctx, claim.Execution, place)})
		}
	}
	for _, t := range all {
		l.dropUntold(ctx, t.claim, t.done)
	}
}

// tell signals a place and waits until it has arrived.
func (l *lease) tell(ctx workflow.Context, e activities.Execution, place Place) {
	l.dropUntold(ctx, e, signalPlace(ctx, e, place))
}

func signalPlace(ctx workflow.Context, e activities.Execution, place Place) workflow.Future {
	return workflow.SignalExternalWorkflow(ctx, e.Workflow, e.Run, SignalPlace, place)
}

// dropUntold drops a claim whose workflow could not be told: it has ended.
func (l *lease) dropUntold(ctx workflow.Context, e activities.Execution, told workflow.Future) {
	if err := told.Get(ctx, nil); err != nil {
		workflow.GetLogger(ctx).Info("claim dropped, its workflow has ended", "workflow", e.Workflow, "error", err)
		l.drop(e)
	}
}

// wait waits for a signal, or until it is time to look for the holder.
func (l *lease) wait(ctx workflow.Context) error {
	limit := probeAlone
	if len(l.Waiting) > 0 {
		limit = probeWaited
	}
	came, err := awaitFor(ctx, limit, func() bool { return l.acquire.Len() > 0 || l.release.Len() > 0 })
	l.probe = err == nil && !came
	return err
}

// awaitFor waits until the condition holds, or for the limit, and leaves no timer behind. It tells whether the condition holds.
func awaitFor(ctx workflow.Context, limit time.Duration, condition func() bool) (bool, error) {
	ctx, cancel := workflow.WithCancel(ctx)
	defer cancel()
	return workflow.AwaitWithTimeout(ctx, limit, condition)
}

// dropEnded frees the host of a holder that has ended, and the queue of claims whose workflows have.
func (l *lease) dropEnded(ctx workflow.Context) {
	l.probe = false
	var all, ended []activities.Execution
	if l.Holder != nil {
		all = append(all, l.Holder.Execution)
	}
	for _, claim := range l.Waiting {
		all = append(all, claim.Execution)
	}
	look := workflow.WithLocalActivityOptions(ctx, localOptions("who is still there", 10*time.Second, 2))
	if err := workflow.ExecuteLocalActivity(look, leases.FindEnded, all).Get(ctx, &ended); err != nil {
		workflow.GetLogger(ctx).Warn("holder not looked for, trying again later", "error", err)
		return
	}
	for _, e := range ended {
		l.drop(e)
	}
}

// localOptions are the options of a call to the Temporal server.
func localOptions(summary string, limit time.Duration, attempts int32) workflow.LocalActivityOptions {
	return workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: limit,
		StartToCloseTimeout:    5 * time.Second,
		Summary:                summary,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: 5 * time.Second, MaximumAttempts: attempts,
		},
	}
}

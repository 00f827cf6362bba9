package workflows

import "go.temporal.io/sdk/workflow"

// HoldHost holds a host as a run does, for workflows of tests.
func HoldHost(ctx workflow.Context, host string, hold func(workflow.Context) error) error {
	b := &benchmark{in: BenchmarkInput{RunID: "test", Host: host}}
	release, err := b.holdHost(ctx)
	if err != nil {
		return err
	}
	err = hold(ctx)
	finish, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	release(finish)
	return err
}

// SetLeaseEvents makes leases go on as a new execution that early, until restore is called.
func SetLeaseEvents(n int) (restore func()) {
	before := leaseEvents
	leaseEvents = n
	return func() { leaseEvents = before }
}

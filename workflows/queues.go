package workflows

// ControlQueue is the task queue of the workflows. What it serves costs little and may run on any machine.
const ControlQueue = "control"

// hostQueue begins the task queues of hosts.
const hostQueue = "host/"

// HostQueue is the task queue of the activities of one host. Its worker runs one of them at a time.
func HostQueue(host string) string { return hostQueue + host }

// WorkflowID is the id of the workflow of a run, so that the same run cannot be started twice.
func WorkflowID(runID string) string { return "run/" + runID }

// QueryProgress is the query that a Benchmark answers with a Progress.
const QueryProgress = "progress"

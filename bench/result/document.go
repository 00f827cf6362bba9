// Package result is the result document: one JSON file per run from which every table, CSV, chart and verdict is derived. A value that
// was not measured is absent, never zero.
package result

import (
	"encoding/json"
	"time"
)

// SchemaVersion is the version of the document's format. It grows by one with each change that an old reader could misread.
const SchemaVersion = 1

// Verdict is the judgement of a leg or a run.
type Verdict string

// The verdicts of legs. A run carries the worst of its legs', see Judge.
const (
	Valid            Verdict = "valid"
	GeneratorLimited Verdict = "generator-limited" // the harness, not the database, was the limit
	Overloaded       Verdict = "overloaded"        // an open-loop rate that the database did not sustain
	Failed           Verdict = "failed"            // operations failed past the error budget, or the step itself did
	Invalid          Verdict = "invalid"           // answers were wrong
	Unverified       Verdict = "unverified"        // answers were not checked
	Interrupted      Verdict = "interrupted"       // the run was cancelled in the middle of it
	Unsupported      Verdict = "unsupported"       // the engine cannot do it
	Skipped          Verdict = "skipped"           // left out on purpose
	NotRun           Verdict = "not run"           // never reached
)

// Document is the result of one run.
type Document struct {
	Schema      int             `json:"schema"`
	Run         Run             `json:"run"`
	Harness     Harness         `json:"harness"`
	Spec        json.RawMessage `json:"spec"`       // as run, without secrets
	SpecDigest  string          `json:"specDigest"` // of Spec, as SpecDigest gives it
	Plan        json.RawMessage `json:"plan"`
	Corpus      Corpus          `json:"corpus"`
	Engine      Engine          `json:"engine"`
	Host        Host            `json:"host"`
	Isolation   *Isolation      `json:"isolation,omitempty"`
	Calibration *Calibration    `json:"calibration,omitempty"`
	Legs        []Leg           `json:"legs"`             // every timed step of the plan, run or not
	Sample      json.RawMessage `json:"sample,omitempty"` // one row, when asked for
}

// Run identifies the run and says how it went.
type Run struct {
	ID         string    `json:"id"`
	Name       string    `json:"name,omitempty"`
	Verdict    Verdict   `json:"verdict"`
	Why        string    `json:"why,omitempty"`
	Started    time.Time `json:"started"`
	Finished   time.Time `json:"finished"`
	Command    []string  `json:"command,omitempty"` // the exact command, secrets removed
	WorkflowID string    `json:"workflowId,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
}

// Harness is the build that measured. Its version and Go are only absent in a run that ended before anything was known.
type Harness struct {
	Version  string `json:"version,omitempty"`
	Revision string `json:"revision,omitempty"` // source revision; absent when the build does not know it
	Modified bool   `json:"modified,omitempty"` // built from a tree with changes
	Go       string `json:"go,omitempty"`
	Cgo      bool   `json:"cgo"`
}

// Corpus identifies the data.
type Corpus struct {
	Seed    uint64 `json:"seed,string"` // a string: JSON numbers lose its low bits
	Digest  string `json:"digest"`
	Rows    int64  `json:"rows"`
	Key     string `json:"key"`
	Random  bool   `json:"random"`
	RowSize int64  `json:"rowSizeBytes"` // mean encoded size of the first rows
}

// Setting is one setting as read back from the server.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Why   string `json:"why,omitempty"`
}

// Engine is the database as it was found. Where nothing was measured, it may be known only by what was asked for.
type Engine struct {
	Name        string    `json:"name"`
	Title       string    `json:"title"`
	Family      string    `json:"family"`
	Version     string    `json:"version,omitempty"`
	Server      string    `json:"server,omitempty"` // embedded, process, docker or endpoint; absent when it was not yet chosen
	Endpoint    string    `json:"endpoint,omitempty"`
	Image       string    `json:"image,omitempty"` // of a container, as it was asked for
	ImageDigest string    `json:"imageDigest,omitempty"`
	Direct      *bool     `json:"direct,omitempty"`   // of a container: clients reach its own address, not a port that a proxy publishes
	Warnings    []string  `json:"warnings,omitempty"` // what could not be had as it was asked for
	Binary      string    `json:"binary,omitempty"`
	TierAsked   string    `json:"tierAsked,omitempty"`
	Tier        string    `json:"tier,omitempty"` // read back
	Settings    []Setting `json:"settings"`       // read back on a measured connection
	Profile     []Setting `json:"profile"`        // what we set, and why
	Clients     int       `json:"clients"`
	Threads     int       `json:"threads"`
	Sockets     *int      `json:"sockets,omitempty"` // connections that carried the load
	Carries     string    `json:"carries,omitempty"` // how operations in flight are carried
}

// Host is the machine's fingerprint. Fields that could not be read are absent; system, CPUs and digest only in a run that ended before
// its host was looked at.
type Host struct {
	Name            string     `json:"name,omitempty"`
	OS              string     `json:"os,omitempty"`
	Arch            string     `json:"arch,omitempty"`
	Kernel          string     `json:"kernel,omitempty"`
	CPUModel        string     `json:"cpuModel,omitempty"`
	CPUs            int        `json:"cpus,omitempty"` // that processes here may run on: by affinity, not by cgroup
	MemoryBytes     int64      `json:"memoryBytes,omitempty"`
	Governor        string     `json:"governor,omitempty"`
	THP             string     `json:"transparentHugePages,omitempty"`
	SwapBytes       *int64     `json:"swapBytes,omitempty"`
	ClockSource     string     `json:"clockSource,omitempty"`
	Virtual         string     `json:"virtualisation,omitempty"`
	CgroupCPUs      *float64   `json:"cgroupCpus,omitempty"`
	CgroupBytes     *int64     `json:"cgroupMemoryBytes,omitempty"`
	Filesystem      string     `json:"filesystem,omitempty"` // of the data directory
	Sockets         int        `json:"sockets,omitempty"`
	Cores           int        `json:"cores,omitempty"`     // of all sockets
	Threads         int        `json:"threads,omitempty"`   // logical CPUs that are online, of all cores
	Nodes           int        `json:"numaNodes,omitempty"` // NUMA nodes with CPUs
	SMT             string     `json:"smt,omitempty"`       // simultaneous multithreading, in the kernel's words: on, off, notsupported …
	Boost           string     `json:"boost,omitempty"`     // clock rates above the nominal one: on or off
	IdleStates      string     `json:"idleStates,omitempty"`
	Mitigations     []string   `json:"mitigations,omitempty"` // "weakness: what the kernel does", without those the processor does not have
	Disk            *Disk      `json:"disk,omitempty"`        // below the data directory
	Digest          string     `json:"digest,omitempty"`      // of the fields above but the name, as Fingerprint gives it
	Limits          []string   `json:"limits,omitempty"`      // resource limits of the process that looked, "open files 1024, at most 4096"
	ContainerEngine string     `json:"containerEngine,omitempty"`
	Probe           *HostProbe `json:"probe,omitempty"` // what was measured and not read; another time it is another
}

// Disk is the device that a directory is on.
type Disk struct {
	Model      string `json:"model,omitempty"`      // of a device made of several, all of them
	Rotational *bool  `json:"rotational,omitempty"` // turns, or says so: virtual disks often do
	WriteCache string `json:"writeCache,omitempty"` // "write back": what is written is safe only after a flush
	Scheduler  string `json:"scheduler,omitempty"`
}

// HostProbe is what was measured of a machine before the run.
type HostProbe struct {
	Flushes       int64    `json:"flushes,omitempty"`       // writes of 4 KiB, each followed by a flush to the device of the data directory
	FlushMedianNs int64    `json:"flushMedianNs,omitempty"` // one write and its flush
	FlushP99Ns    int64    `json:"flushP99Ns,omitempty"`
	StealShare    *float64 `json:"stealShare,omitempty"` // of the time that CPUs were wanted, what the hypervisor gave to others: 0 to 1
	StealNs       int64    `json:"stealWindowNs,omitempty"`
}

// The states of isolation steps.
const (
	StepDone     = "done"
	StepRefused  = "refused"
	StepNotAsked = "not asked"
)

// Isolation is what was done so that nothing but the database and its load is on the machine.
type Isolation struct {
	Level      string          `json:"level"` // none, standard or strict
	Steps      []IsolationStep `json:"steps"`
	AgentCPUs  string          `json:"agentCpus,omitempty"`  // "1-3,9-11"; absent when the agent may run anywhere
	ServerCPUs string          `json:"serverCpus,omitempty"` // likewise
	SharedCPUs bool            `json:"sharedCpus"`           // agent and server run on the same CPUs
	CPUNote    string          `json:"cpuNote,omitempty"`    // how the CPUs were split, or why not
}

// IsolationStep is one step of it.
type IsolationStep struct {
	Name   string `json:"name"`
	Asked  string `json:"asked,omitempty"`
	State  string `json:"state"`            // done, refused or not asked
	Why    string `json:"why,omitempty"`    // why it was refused, or what is left to say
	Before string `json:"before,omitempty"` // as it was found
	After  string `json:"after,omitempty"`  // as it is during the run
}

// Calibration is the harness's own cost, measured on the dry engine in this run on this host.
type Calibration struct {
	NsPerOp float64 `json:"nsPerOp"` // worker CPU time per operation, wall × workers on a core ÷ operations
	ClockNs float64 `json:"clockNs"` // one reading of the clock
	Samples int64   `json:"samples"`
	P99Ns   int64   `json:"p99Ns"` // service time the dry engine shows: the floor of what can be told apart
}

// Leg is one timed step.
type Leg struct {
	ID            string         `json:"id"`
	Title         string         `json:"title"`
	Kind          string         `json:"kind"`
	Verdict       Verdict        `json:"verdict"`
	Why           string         `json:"why,omitempty"`
	Clients       int            `json:"clients"`
	Threads       int            `json:"threads"`
	Planned       int64          `json:"planned"`            // operations asked for; 0 when a time window was
	WarmupNs      int64          `json:"warmupNs,omitempty"` // of a windowed leg
	WindowNs      int64          `json:"windowNs,omitempty"` // of a windowed leg
	Scan          *Scan          `json:"scan,omitempty"`
	Search        *Search        `json:"search,omitempty"` // of a search leg, or of the build of the index that it uses
	Batch         *Batch         `json:"batch,omitempty"`
	Mix           *Mix           `json:"mix,omitempty"`
	Churn         *Churn         `json:"churn,omitempty"`    // of a leg that deletes or inserts rows to wear an index
	Index         *Index         `json:"index,omitempty"`    // that is built, dropped or used
	Explain       *Explanation   `json:"explain,omitempty"`  // of the scan, when it is to use the index
	Measured      *Measured      `json:"measured,omitempty"` // absent when the leg did not run
	Attempts      int            `json:"attempts,omitempty"` // how often it was started
	Interruptions []Interruption `json:"interruptions,omitempty"`
}

// Interruption is one thing that happened to a leg other than being measured.
type Interruption struct {
	At    time.Time `json:"at"`
	Cause string    `json:"cause"` // e.g. agent-lost, server-restarted, cancelled
	Note  string    `json:"note,omitempty"`
}

// Measured is what a leg measured.
type Measured struct {
	Started    time.Time    `json:"started"`
	WallNs     int64        `json:"wallNs"`
	OK         int64        `json:"ok"`
	Failed     int64        `json:"failed"`               // those of the warm-up included: no failure goes unseen
	Warmup     int64        `json:"warmup,omitempty"`     // operations that succeeded in the warm-up; they are in no other figure but Checked
	OverBudget bool         `json:"overBudget,omitempty"` // more operations failed than the error budget allows
	Errors     []ErrorCount `json:"errors,omitempty"`
	Throughput *float64     `json:"throughput,omitempty"` // successful operations per second; absent without any
	Service    *Latency     `json:"service,omitempty"`
	Response   *Latency     `json:"response,omitempty"`
	Kinds      []KindCount  `json:"kinds,omitempty"` // of a leg of several kinds of operations: a part of the figures above each
	Exchanges  *Exchanges   `json:"exchanges,omitempty"`
	Recall     *Recall      `json:"recall,omitempty"`      // of a search leg
	Rows       *int64       `json:"rows,omitempty"`        // received, or written, by operations that succeeded
	Bytes      *int64       `json:"bytes,omitempty"`       // of their data, received
	Requests   *int64       `json:"requests,omitempty"`    // that the batches of operations that succeeded took
	Retries    *int64       `json:"retries,omitempty"`     // requests sent again within operations, as the server asked after conflicts; nil for engines that never do
	Touched    *int64       `json:"rowsTouched,omitempty"` // distinct rows that were written, or read by a mixed leg
	OpenLoop   *OpenLoop    `json:"openLoop,omitempty"`    // nil in the closed loop
	Steady     *Steady      `json:"steady,omitempty"`      // nil in a counted leg
	Intervals  []Interval   `json:"intervals"`
	WholeCheck *WholeCheck  `json:"wholeCheck,omitempty"` // of a scan leg; counts as one answer in Checked, and in Wrong
	ReadBack   int64        `json:"readBack,omitempty"`   // rows read after the leg and compared; they count in Checked, and in Wrong
	Checked    int64        `json:"checked"`              // answers compared by content, those of the warm-up included
	Wrong      int64        `json:"wrong"`
	Examples   []Mismatch   `json:"examples,omitempty"`
	RowsAfter  *int64       `json:"rowsAfter,omitempty"`  // rows the database counted after the leg
	RowsWanted *int64       `json:"rowsWanted,omitempty"` // rows there must be
	Stopped    string       `json:"stopped,omitempty"`
	GC         GC           `json:"gc"`
	SkewNs     int64        `json:"skewNs"`
	Server     *Usage       `json:"server,omitempty"` // the database's process tree; absent when it cannot be read
	ServerNote string       `json:"serverNote,omitempty"`
	Agent      *Usage       `json:"agent,omitempty"` // the measuring process
	AgentNote  string       `json:"agentNote,omitempty"`
}

// ErrorCount is one class of failed operations.
type ErrorCount struct {
	Class string   `json:"class"`
	Count int64    `json:"count"`
	Texts []string `json:"texts,omitempty"`
}

// Mismatch is one wrong answer.
type Mismatch struct {
	Whole  bool   `json:"whole,omitempty"` // the answer as a whole is wrong, e.g. has too few rows; Index means nothing then
	Index  uint64 `json:"index"`
	Column string `json:"column,omitempty"`
	Want   string `json:"want"`
	Got    string `json:"got"`
}

// Latency is a distribution in nanoseconds. Quantiles are upper bounds of the bucket they fall in, at most 0.4 % above the true value;
// Min, Max and Mean are exact.
type Latency struct {
	Count     int64   `json:"count"`
	Mean      float64 `json:"mean"`
	Min       int64   `json:"min"`
	P01       int64   `json:"p01"`
	P25       int64   `json:"p25"`
	P50       int64   `json:"p50"`
	P75       int64   `json:"p75"`
	P90       int64   `json:"p90"`
	P95       int64   `json:"p95"`
	P99       int64   `json:"p99"`
	P999      int64   `json:"p999"`
	P9999     int64   `json:"p9999"`
	Max       int64   `json:"max"`
	Histogram string  `json:"histogram"` // HdrHistogram V2, compressed, base64
}

// Interval is one second of a leg.
type Interval struct {
	Second int64  `json:"second"`
	OK     int64  `json:"ok"`
	Failed int64  `json:"failed,omitempty"`
	P50    *int64 `json:"p50,omitempty"` // ns
	P99    *int64 `json:"p99,omitempty"` // ns
	Max    *int64 `json:"max,omitempty"` // ns
}

// GC is the part of the agent's garbage collector in a leg.
type GC struct {
	Cycles    int64   `json:"cycles"`
	PauseNs   int64   `json:"pauseNs"`
	CPUShare  float64 `json:"cpuShare"`
	HeapBytes int64   `json:"heapBytes"`
}

// Usage is the resources of a process tree during a leg. A nil field could not be read; it is never 0 in place of unknown.
type Usage struct {
	Processes    int      `json:"processes"`          // most seen at once
	CPUCores     *float64 `json:"cpuCores,omitempty"` // CPU seconds ÷ wall seconds
	CPUSeconds   *float64 `json:"cpuSeconds,omitempty"`
	MemoryMean   *int64   `json:"memoryMeanBytes,omitempty"`
	MemoryPeak   *int64   `json:"memoryPeakBytes,omitempty"`
	MemoryKind   string   `json:"memoryKind,omitempty"` // "pss", or the fallback "rss"
	ReadBytes    *int64   `json:"diskReadBytes,omitempty"`
	WrittenBytes *int64   `json:"diskWrittenBytes,omitempty"`
	Missing      []string `json:"missing,omitempty"` // what could not be read, and why
	// Group is what the control group of the processes says, where they have one of their own, as in a container.
	Group *GroupUsage `json:"group,omitempty"`
}

// GroupUsage is what the kernel has on the account of a control group during a leg. A nil field could not be read.
type GroupUsage struct {
	CPUSeconds       *float64 `json:"cpuSeconds,omitempty"`
	ThrottledSeconds *float64 `json:"throttledSeconds,omitempty"` // that its threads were kept off the CPUs because its quota was used up
	MemoryPeak       *int64   `json:"memoryPeakBytes,omitempty"`  // most seen, with the files that are cached for it and what the kernel holds
}

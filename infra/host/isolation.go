package host

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// Level says how hard a run tries to have the machine for itself.
type Level string

// The levels of isolation. Standard and strict take the same steps: under standard a step that the machine or our rights refuse is
// recorded and the run goes on; under strict nothing is measured.
const (
	None     Level = "none"
	Standard Level = "standard"
	Strict   Level = "strict"
)

// ParseLevel reads a level; no word is Standard.
func ParseLevel(word string) (Level, error) {
	switch level := Level(word); level {
	case "":
		return Standard, nil
	case None, Standard, Strict:
		return level, nil
	}
	return "", fmt.Errorf("isolation %q is none of none, standard, strict", word)
}

// The names of the steps, in the order in which they are taken.
const (
	StepServices  = "services" // stop the named services
	StepSwap      = "swap"     // off
	StepHugePages = "thp"      // transparent huge pages
	StepGovernor  = "governor" // of the CPUs' frequency
	StepFiles     = "files"    // open files that a process may have
	StepLocked    = "memlock"  // memory that a process may lock
	StepNice      = "nice"
	StepIO        = "ionice"
	StepCPUs      = "cpus"   // agent and server on CPUs of their own
	StepCaches    = "caches" // drop the page cache, compact memory
	StepQuiet     = "quiet"  // wait until nothing else runs
)

// StepNames returns the names of all steps in the order in which they are taken.
func StepNames() []string {
	return []string{
		StepServices, StepSwap, StepHugePages, StepGovernor, StepFiles, StepLocked, StepNice, StepIO, StepCPUs, StepCaches, StepQuiet,
	}
}

// Isolation says what is to be done so that nothing but the database and its load is on the machine. The zero value is the standard
// level with the default of every step.
type Isolation struct {
	Level   Level    `json:"level,omitempty"`
	Without []string `json:"without,omitempty"` // names of steps to leave out
	// Server is where the database runs: embedded, process, docker or endpoint. Embedded and endpoint need no CPUs of their own here.
	Server string `json:"server,omitempty"`

	Load      float64       `json:"load,omitempty"`      // a machine with less than this is quiet, as a load average counts; default 0.5
	Wait      time.Duration `json:"wait,omitempty"`      // at most so long until it is; default 1 minute, 15 when strict
	Services  []string      `json:"services,omitempty"`  // systemd units to stop; default none
	HugePages string        `json:"hugePages,omitempty"` // always, madvise or never; default never
	Governor  string        `json:"governor,omitempty"`  // default performance

	OpenFiles   int64 `json:"openFiles,omitempty"`   // that agent and server may have each; default 65536
	LockedBytes int64 `json:"lockedBytes,omitempty"` // of memory that they may lock, -1 for no limit, which is the default

	// Nice and IO are asked for only when they are given: a database that outranks everything starves the worker that has to report
	// that it lives.
	Nice *int   `json:"nice,omitempty"` // of agent and server, -20 to 19
	IO   string `json:"io,omitempty"`   // of agent and server: "realtime/N", "best-effort/N", 0 first to 7 last, or "idle"

	// Ours are processes whose load, with that of all that descends from them, is no reason to wait: the Temporal server that this
	// program started. This process is always one of them.
	Ours []int `json:"ours,omitempty"`
}

// Patience is the longest that Apply waits for a quiet machine; 0 when it does not wait at all.
func (i Isolation) Patience() time.Duration {
	i = i.withDefaults()
	if !i.asks(StepQuiet) {
		return 0
	}
	return i.Wait
}

// Unlimited is Isolation.LockedBytes and Placement.LockedBytes without a limit.
const Unlimited = -1

// withDefaults returns i with what was left open filled in.
func (i Isolation) withDefaults() Isolation {
	if i.Level == "" {
		i.Level = Standard
	}
	if i.Load == 0 {
		i.Load = 0.5
	}
	if i.Wait == 0 {
		i.Wait = time.Minute
		if i.Level == Strict {
			i.Wait = 15 * time.Minute
		}
	}
	if i.HugePages == "" {
		i.HugePages = "never"
	}
	if i.Governor == "" {
		i.Governor = "performance"
	}
	if i.OpenFiles == 0 {
		i.OpenFiles = 65536
	}
	if i.LockedBytes == 0 {
		i.LockedBytes = Unlimited
	}
	return i
}

// unitName is what a systemd unit is called. It never begins with a dash, so that systemctl takes none for an option.
var unitName = regexp.MustCompile(`^[A-Za-z0-9:_.\\@][A-Za-z0-9:_.\\@-]{0,254}$`)

// governorName is what a frequency governor is called.
var governorName = regexp.MustCompile(`^[a-z_]{1,32}$`)

// Validate returns every problem of the request at once.
func (i Isolation) Validate() error {
	var problems []error
	bad := func(format string, args ...any) {
		problems = append(problems, fmt.Errorf("isolation: "+format, args...))
	}
	if _, err := ParseLevel(string(i.Level)); err != nil {
		problems = append(problems, err)
	}
	for _, name := range i.Without {
		if !slices.Contains(StepNames(), name) {
			bad("without %q: there is no such step; there are %s", name, strings.Join(StepNames(), ", "))
		}
	}
	if !slices.Contains([]string{"", "embedded", "process", "docker", "endpoint"}, i.Server) {
		bad("server %q is none of embedded, process, docker, endpoint", i.Server)
	}
	if !(i.Load >= 0) {
		bad("load %g is below 0", i.Load)
	}
	if i.Wait < 0 {
		bad("wait %v is below 0", i.Wait)
	}
	for _, name := range i.Services {
		if !unitName.MatchString(name) {
			bad("service %q cannot be the name of a systemd unit", name)
		}
	}
	if !slices.Contains([]string{"", "always", "madvise", "never"}, i.HugePages) {
		bad("huge pages %q is none of always, madvise, never", i.HugePages)
	}
	if i.Governor != "" && !governorName.MatchString(i.Governor) {
		bad("governor %q cannot be the name of one", i.Governor)
	}
	if i.OpenFiles < 0 {
		bad("open files %d is below 0", i.OpenFiles)
	}
	if i.LockedBytes < Unlimited {
		bad("locked memory %d is neither a size in bytes nor %d for no limit", i.LockedBytes, Unlimited)
	}
	if i.Nice != nil && (*i.Nice < -20 || *i.Nice > 19) {
		bad("nice %d is not in -20 to 19", *i.Nice)
	}
	if _, err := parseIO(i.IO); err != nil {
		bad("%w", err)
	}
	return errors.Join(problems...)
}

// asks tells whether the step is to be taken.
func (i Isolation) asks(step string) bool {
	switch {
	case i.Level == None || slices.Contains(i.Without, step):
		return false
	case step == StepServices:
		return len(i.Services) > 0
	case step == StepNice:
		return i.Nice != nil
	case step == StepIO:
		return i.IO != ""
	}
	return true
}

// Isolated is a machine that was made ready. It goes through JSON, so that a worker that takes over knows where agent and server belong.
type Isolated struct {
	Record result.Isolation `json:"record"` // for the result document
	Agent  Placement        `json:"agent"`  // how to start the agent
	Server Placement        `json:"server"` // how to start the server
}

// RefusedError says which steps strict isolation did not get. What had been changed is put back.
type RefusedError struct {
	Steps []result.IsolationStep
}

// Error names every refused step with its reason.
func (e *RefusedError) Error() string {
	reasons := make([]string, len(e.Steps))
	for i, step := range e.Steps {
		reasons[i] = fmt.Sprintf("%s: %s", step.Name, step.Why)
	}
	return "strict isolation is not to be had here: " + strings.Join(reasons, "; ") +
		". Leave steps out by name, or ask for standard isolation, which records them and goes on"
}

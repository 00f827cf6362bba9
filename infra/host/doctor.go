package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// Status is how a finding bears on measurements.
type Status string

// The statuses of findings.
const (
	StatusOK   Status = "ok"
	StatusWarn Status = "warn" // figures are less steady, or a step of isolation will be refused
	StatusBad  Status = "bad"  // figures would mislead, or a run cannot start
)

// Finding is one thing that a look at the machine found.
type Finding struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Status Status `json:"status"`
	Fix    string `json:"fix,omitempty"` // what to do, in plain words; empty where nothing is to be done
}

// DoctorOptions says what to look at.
type DoctorOptions struct {
	DataDir         string        // where databases will have their files
	Flush           bool          // measure its flush latency, which writes some hundred kilobytes to it
	Window          time.Duration // how long load and steal are watched; default 1 second
	LockDir         string        // of the host's lock; default LockDir()
	JournalDir      string        // of the isolation journal
	ContainerEngine string        // as the caller found it, "Docker 29.1"; empty for none
	Isolation       Isolation     // what runs will ask for
}

// symptoms are what findings are made of.
type symptoms struct {
	host       result.Host
	probeError error
	split      CPUSets
	load       float64 // of others, threads
	loadError  error
	busiest    string
	freeBytes  int64 // of the data directory's filesystem; 0 when it is not known
	sizeBytes  int64
	refusals   []string // "step: why", of the steps that would be refused
	background []string // services that run and are known to start work by themselves
	holder     *Holder
	lockError  error
	left       string // the run whose changes are not put back
}

// Doctor looks at the machine and says what stands in the way of good figures, and what to do about it. Apart from the flush
// measurement, when it is asked for, it changes nothing.
func Doctor(ctx context.Context, o DoctorOptions) []Finding {
	if o.Window <= 0 {
		o.Window = time.Second
	}
	if o.LockDir == "" {
		o.LockDir = LockDir()
	}
	o.Isolation = o.Isolation.withDefaults()
	s := symptoms{host: Fingerprint(ctx, o.DataDir)}
	s.host.ContainerEngine = o.ContainerEngine
	dir := o.DataDir
	if !o.Flush {
		dir = ""
	}
	s.host.Probe, s.probeError = Probe(ctx, dir, o.Window)
	if errors.Is(s.probeError, fs.ErrPermission) {
		s.probeError = fmt.Errorf("%w: let the data directory belong to the user of the worker", s.probeError)
	}
	s.holder, s.lockError = Held(o.LockDir)
	if o.JournalDir != "" {
		if run, since, ok := Left(o.JournalDir); ok {
			s.left = fmt.Sprintf("run %s, since %s", run, since.UTC().Format("2006-01-02 15:04:05 UTC"))
		}
	}
	examine(ctx, o, &s)
	return s.findings(o)
}

// findings judges the symptoms.
func (s symptoms) findings(o DoctorOptions) []Finding {
	var all []Finding
	for _, judge := range []func(DoctorOptions) []Finding{
		s.processors, s.clocks, s.memory, s.storage, s.neighbours, s.processes, s.readiness,
	} {
		all = append(all, judge(o)...)
	}
	return all
}

// ok, warn and bad make findings. A finding without a value is left out by known.
func ok(name, value string) Finding { return Finding{Name: name, Value: value, Status: StatusOK} }

func warn(name, value, fix string) Finding {
	return Finding{Name: name, Value: value, Status: StatusWarn, Fix: fix}
}

func bad(name, value, fix string) Finding {
	return Finding{Name: name, Value: value, Status: StatusBad, Fix: fix}
}

// known keeps the findings that have a value.
func known(findings ...Finding) []Finding {
	var kept []Finding
	for _, f := range findings {
		if f.Value != "" {
			kept = append(kept, f)
		}
	}
	return kept
}

// byItself ends the advice on what isolation does for the length of a run when it may.
const byItself = "isolation does it for the length of a run when the worker runs as root"

// readiness tells whether a run could start and would get its isolation.
func (s symptoms) readiness(o DoctorOptions) []Finding {
	lock := ok("host lock", "free")
	switch {
	case s.lockError != nil:
		lock = bad("host lock", s.lockError.Error(), "make the lock file readable and writable for all, or remove it")
	case s.holder != nil:
		lock = warn("host lock", "held by "+s.holder.String(), "a run that starts now waits for that one, or end it")
	}
	left := ok("earlier changes", "none left")
	if s.left != "" && s.holder == nil {
		left = warn("earlier changes", "not put back: "+s.left, "they are put back when a worker starts on this host, and before the next run")
	}
	rights := ok("isolation", "every step can be taken: "+strings.Join(StepNames(), ", "))
	if len(s.refusals) > 0 {
		rights = warn("isolation", fmt.Sprintf("of %s would be refused: %s", strings.Join(StepNames(), ", "), strings.Join(s.refusals, "; ")),
			"run the worker as root with all capabilities, and leave out by name what this machine cannot do; under strict isolation a refused step ends the run")
	}
	engine := warn("container engine", "none", "without one, databases are started from programs on this machine, or reached at an endpoint")
	if s.host.ContainerEngine != "" {
		engine = ok("container engine", s.host.ContainerEngine)
	}
	return []Finding{lock, left, rights, engine}
}

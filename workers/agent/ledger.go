package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/durabench/durabench/bench/plan"
	"github.com/durabench/durabench/bench/wholefile"
)

// ledger is the run's memory of its steps: one file for each step that was begun, and one with its outcome once it has finished. The
// server uses it under its own lock.
type ledger struct {
	dir   string
	next  int
	steps map[string]*entry
}

// entry is one step in the ledger.
type entry struct {
	Number int       `json:"number"` // order in which steps were begun, counted from 1
	Step   plan.Step `json:"step"`
	// Begun has the moment of every execution. All but the last were cut short by the loss of the agent; so was the last one when there
	// is no outcome and the agent that reads this is another.
	Begun []begin `json:"begun"`
	// Lost has what was told of executions that do not count.
	Lost    []Loss   `json:"lost,omitempty"`
	outcome *Outcome // from the step's other file
}

// lost tells whether the last execution is among those that do not count.
func (e *entry) lost(losses []Loss) bool {
	return slices.ContainsFunc(losses, func(l Loss) bool { return l.Attempt > 0 && l.Attempt == len(e.Begun) })
}

// begin is the start of one execution.
type begin struct {
	At  time.Time `json:"at"`
	PID int       `json:"pid"`
}

const (
	begunSuffix   = ".begun.json"
	memorySuffix  = ".memory.json"
	outcomeSuffix = ".json"
)

// memory is what an execution of a step keeps for the next.
type memory struct {
	Attempt int `json:"attempt"`
	Value   any `json:"value"`
}

// openLedger reads the steps of earlier agents of the run.
func openLedger(dir string) (*ledger, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of steps: %w", err)
	}
	l := &ledger{dir: dir, next: 1, steps: map[string]*entry{}}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the steps: %w", err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), begunSuffix) {
			continue
		}
		e := new(entry)
		if err := readJSON(filepath.Join(dir, file.Name()), e); err != nil {
			return nil, fmt.Errorf("read a step: %w", err)
		}
		outcome := new(Outcome)
		switch err := readJSON(l.path(e, outcomeSuffix), outcome); {
		case err == nil:
			e.outcome = outcome
		case !errors.Is(err, os.ErrNotExist):
			return nil, fmt.Errorf("read the outcome of step %s: %w", e.Step.ID, err)
		}
		l.steps[e.Step.ID] = e
		l.next = max(l.next, e.Number+1)
	}
	return l, nil
}

// begin notes that a step is about to run, and returns which attempt this is.
func (l *ledger) begin(asked Begin, now time.Time) (*entry, error) {
	step := asked.Step
	e := l.steps[step.ID]
	if e == nil {
		e = &entry{Number: l.next, Step: step}
	}
	begun := append(e.Begun[:len(e.Begun):len(e.Begun)], begin{At: now, PID: os.Getpid()})
	if err := writeJSON(l.path(e, begunSuffix), entry{Number: e.Number, Step: step, Begun: begun, Lost: asked.Lost}); err != nil {
		return nil, fmt.Errorf("note the start of step %s: %w", step.ID, err)
	}
	e.Begun, e.Lost = begun, asked.Lost
	l.steps[step.ID] = e
	l.next = max(l.next, e.Number+1)
	return e, nil
}

// finish keeps a step's outcome on disk.
func (l *ledger) finish(e *entry, outcome Outcome) error {
	if err := writeJSON(l.path(e, outcomeSuffix), outcome); err != nil {
		return fmt.Errorf("keep the outcome of step %s: %w", e.Step.ID, err)
	}
	e.outcome = &outcome
	return nil
}

// putAside takes away the outcome of an execution that does not count. It stays in the run's directory under another name, to be looked at.
func (l *ledger) putAside(e *entry) error {
	path := l.path(e, outcomeSuffix)
	aside := l.path(e, fmt.Sprintf(".lost-%d%s", len(e.Begun), outcomeSuffix))
	if err := errors.Join(os.Rename(path, aside), wholefile.SyncDir(l.dir)); err != nil {
		return fmt.Errorf("put the outcome of step %s aside: %w", e.Step.ID, err)
	}
	e.outcome = nil
	return nil
}

// remember keeps a value for the next execution of a step.
func (l *ledger) remember(e *entry, value any) error {
	if err := writeJSON(l.path(e, memorySuffix), memory{Attempt: len(e.Begun), Value: value}); err != nil {
		return fmt.Errorf("keep what step %s has begun: %w", e.Step.ID, err)
	}
	return nil
}

// recall reads what an execution of the step remembered, unless that execution ended with the loss of the database server.
func (l *ledger) recall(e *entry, into any) (bool, error) {
	found := memory{Value: into}
	err := readJSON(l.path(e, memorySuffix), &found)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("read what step %s had begun: %w", e.Step.ID, err)
	}
	gone := slices.ContainsFunc(e.Lost, func(loss Loss) bool { return loss.Cause == CauseServerLost && loss.Attempt >= found.Attempt })
	return !gone && found.Attempt < len(e.Begun), nil
}

// finished returns the ids of the steps with outcomes, in the order in which they were begun.
func (l *ledger) finished() []string {
	ids := []string{}
	for id, e := range l.steps {
		if e.outcome != nil {
			ids = append(ids, id)
		}
	}
	sort.Slice(ids, func(i, j int) bool { return l.steps[ids[i]].Number < l.steps[ids[j]].Number })
	return ids
}

// outcomes returns what the finished steps came to, in the order in which they were begun.
func (l *ledger) outcomes() []Outcome {
	var outcomes []Outcome
	for _, id := range l.finished() {
		outcomes = append(outcomes, *l.steps[id].outcome)
	}
	return outcomes
}

// path returns the name of one of a step's files, e.g. "steps/003-read.json".
func (l *ledger) path(e *entry, suffix string) string {
	return filepath.Join(l.dir, fmt.Sprintf("%03d-%s%s", e.Number, fileName(e.Step.ID), suffix))
}

// fileName is a step's id as part of a file's name. Ids are paths of words: their slashes become a character that no word has.
func fileName(id string) string { return strings.ReplaceAll(id, "/", "~") }

// sameStep tells whether two steps are the same in every field.
func sameStep(a, b plan.Step) bool { return reflect.DeepEqual(a, b) }

// ReadOutcome reads the outcome of a finished step from a run's directory, whether or not an agent lives. A step that has none is an
// error that is os.ErrNotExist.
func ReadOutcome(dir, id string) (Outcome, error) {
	steps := filepath.Join(dir, stepsDir)
	files, err := os.ReadDir(steps)
	if err != nil {
		return Outcome{}, fmt.Errorf("find the outcome of step %s: %w", id, err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file.Name(), "-"+fileName(id)+outcomeSuffix) {
			continue
		}
		var outcome Outcome
		if err := readJSON(filepath.Join(steps, file.Name()), &outcome); err != nil {
			return Outcome{}, fmt.Errorf("read the outcome of step %s: %w", id, err)
		}
		// The name of another step may end in this one's.
		if outcome.Step.ID == id {
			return outcome, nil
		}
	}
	return Outcome{}, fmt.Errorf("outcome of step %s: %w", id, os.ErrNotExist)
}

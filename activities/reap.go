package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/durabench/durabench/activities/secrets"
	"github.com/durabench/durabench/infra/docker"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/infra/process"
	"github.com/durabench/durabench/workers/agent"
)

const (
	// keptLogs is of how many runs that are over the logs are kept, and keptFor how long.
	keptLogs = 20
	keptFor  = 30 * 24 * time.Hour
	// secretsGrace is how long the credentials of a run may lie there before its workflow is known.
	secretsGrace = time.Hour
)

// Reaper finds and removes what runs that are over have left on this machine: agents, servers, containers and volumes, data, credentials, old logs
// and changed settings. It looks only where this installation puts things and for what carries its label, and it touches nothing of a run
// that goes on, nor of one of which that is not known.
type Reaper struct {
	Work    string // below which every run has its working directory
	Owner   string // of containers and volumes, as Server.Owner
	LockDir string // of the host's lock
	Journal string // directory of the isolation journal
	// Going tells whether a run goes on. Its error means that this is not known.
	Going func(ctx context.Context, runID, temporal string) (bool, error)
	// Logger is told what is removed; nil is silence.
	Logger *slog.Logger
}

// Leftover is one thing that a run left.
type Leftover struct {
	Kind  string `json:"kind"` // agent, server, data, credentials, logs, container, volume, network or machine
	Name  string `json:"name"`
	RunID string `json:"run,omitempty"`
	Note  string `json:"note,omitempty"`
	// Kept tells that it stays, as it was meant to outlive its run: Note says why.
	Kept bool `json:"kept,omitempty"`
}

// ReapOptions say how to reap.
type ReapOptions struct {
	Dry bool // only tell
	All bool // also what outlives its run on purpose: loaded volumes, containers kept after a failure, logs
	// Except is a run that is left alone whatever is known of it.
	Except string
}

// before removes what stands in the way of a run that is about to begin. What cannot be removed is logged: it may disturb the run, and does not
// keep it from running.
func (r *Reaper) before(ctx context.Context, runID string) {
	left, err := r.Reap(ctx, ReapOptions{Except: runID})
	for _, l := range left {
		if !l.Kept {
			r.logger().Info("removed what a run left", "kind", l.Kind, "name", l.Name, "run", l.RunID)
		}
	}
	if err != nil {
		r.logger().Warn("not everything that earlier runs left could be removed", "error", err)
	}
}

// Reap removes what runs that are over have left, and returns what that was. It goes on after an error.
func (r *Reaper) Reap(ctx context.Context, o ReapOptions) ([]Leftover, error) {
	p := &reaping{Reaper: r, ReapOptions: o, known: map[string]bool{}}
	// Agents first: they hold the machine, and what they measure is in use.
	err := errors.Join(p.directories(ctx), p.secrets(ctx), p.containers(ctx), p.machine(ctx))
	return p.left, errors.Join(err, errors.Join(p.problems...))
}

// reaping is one call of Reap.
type reaping struct {
	*Reaper
	ReapOptions
	left     []Leftover
	known    map[string]bool // whether runs go on
	problems []error         // of finding that out
}

func (p *reaping) note(l Leftover) { p.left = append(p.left, l) }

// over tells whether a run surely does not go on.
func (p *reaping) over(ctx context.Context, runID, temporal string) bool {
	if runID == p.Except {
		return false
	}
	going, asked := p.known[runID]
	if !asked {
		var err error
		if going, err = p.Going(ctx, runID, temporal); err != nil {
			p.problems = append(p.problems, fmt.Errorf("find out whether run %s goes on: %w", runID, err))
			going = true
		}
		p.known[runID] = going
	}
	return !going
}

// directories goes through the working directories of runs.
func (p *reaping) directories(ctx context.Context) error {
	entries, err := os.ReadDir(p.Work)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for what runs left: %w", err)
	}
	var problems []error
	var logs []string
	for _, entry := range entries {
		if !entry.IsDir() || plainID(entry.Name()) != nil {
			continue
		}
		dir := filepath.Join(p.Work, entry.Name())
		owner, err := readOwner(dir)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if !p.over(ctx, owner.Run.ID, owner.Temporal) {
			continue
		}
		problems = append(problems, p.directory(ctx, owner.Run))
		logs = append(logs, dir)
	}
	return errors.Join(append(problems, p.logs(logs))...)
}

// directory ends what runs for a run, and removes all but its logs.
func (p *reaping) directory(ctx context.Context, run Run) error {
	var problems []error
	if pid, lives := agent.Living(run.Dir); lives {
		p.note(Leftover{Kind: "agent", Name: fmt.Sprintf("process %d", pid), RunID: run.ID})
	}
	if !p.Dry {
		problems = append(problems, agent.Reap(ctx, run.Dir), secrets.Delete(run.ID))
	}
	for _, dir := range serverDirs(run) {
		pid, lives, err := process.Living(dir)
		problems = append(problems, err)
		if lives {
			p.note(Leftover{Kind: "server", Name: fmt.Sprintf("process %d", pid), RunID: run.ID, Note: dir})
		}
		if lives && !p.Dry {
			problems = append(problems, process.Stop(ctx, dir, true), copyTail(filepath.Join(run.Dir, "server.log"), serverLog(dir), logBytes))
		}
	}
	for _, dir := range passingData(run) {
		if _, err := os.Lstat(dir); err != nil {
			continue
		}
		p.note(Leftover{Kind: "data", Name: dir, RunID: run.ID})
		if !p.Dry {
			problems = append(problems, os.RemoveAll(dir))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return fmt.Errorf("remove what run %s left: %w", run.ID, err)
	}
	return nil
}

// logs removes the directories of runs of which only logs are left: those beyond the newest, and old ones.
func (p *reaping) logs(dirs []string) error {
	age := func(dir string) time.Duration {
		info, err := os.Stat(dir)
		if err != nil {
			return 0
		}
		return time.Since(info.ModTime())
	}
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Compare(age(a), age(b)) })
	var problems []error
	for n, dir := range dirs {
		l := Leftover{Kind: "logs", Name: dir, RunID: filepath.Base(dir)}
		if n < keptLogs && age(dir) < keptFor && !p.All {
			l.Kept, l.Note = true, fmt.Sprintf("the logs of the last %d runs that left any are kept for %d days", keptLogs, keptFor/(24*time.Hour))
		}
		p.note(l)
		if !l.Kept && !p.Dry {
			problems = append(problems, os.RemoveAll(dir))
		}
	}
	return errors.Join(problems...)
}

// secrets removes the credentials of runs that have no working directory any more.
func (p *reaping) secrets(ctx context.Context) error {
	ids, err := secrets.Older(secretsGrace)
	if err != nil {
		return err
	}
	problems := []error{}
	for _, id := range ids {
		if !p.over(ctx, id, "") {
			continue
		}
		p.note(Leftover{Kind: "credentials", Name: id, RunID: id})
		if !p.Dry {
			problems = append(problems, secrets.Delete(id))
		}
	}
	return errors.Join(problems...)
}

// containers removes the containers, volumes and networks of runs that are over. Without a container engine there are none.
func (p *reaping) containers(ctx context.Context) error {
	client, err := docker.New(p.Logger)
	if err == nil {
		defer client.Close()
		_, err = client.Available(ctx)
	}
	if errors.Is(err, docker.ErrUnavailable) {
		return nil
	}
	if err != nil {
		return err
	}
	found := func(thing docker.Thing) Leftover {
		l := Leftover{Kind: string(thing.Kind), Name: thing.Name, RunID: thing.RunID}
		if thing.Kept != "" && !p.All {
			l.Kept, l.Note = true, "kept: "+strings.ReplaceAll(thing.Kept, "data", "data that a load left for queries")
		}
		return l
	}
	reaped, err := client.Reap(ctx, func(thing docker.Thing) bool {
		if thing.Owner != p.Owner || !p.over(ctx, thing.RunID, p.temporalOf(thing.RunID)) {
			return true
		}
		if p.Dry {
			p.note(found(thing))
		}
		return p.Dry
	}, p.All)
	for _, thing := range slices.Concat(reaped.Removed, reaped.Kept) {
		p.note(found(thing))
	}
	return err
}

// temporalOf is the server that a run is on, as far as its working directory tells.
func (p *reaping) temporalOf(runID string) string {
	owner, err := readOwner(filepath.Join(p.Work, runID))
	if err != nil {
		return ""
	}
	return owner.Temporal
}

// machine puts back what a run has changed of the machine, unless one holds it.
func (p *reaping) machine(ctx context.Context) error {
	id, since, left := host.Left(p.Journal)
	if !left || id != "" && !p.over(ctx, id, p.temporalOf(id)) { // one that cannot be read tells no id
		return nil
	}
	l := Leftover{Kind: "machine", Name: "settings changed since " + since.UTC().Format(time.RFC3339), RunID: id}
	if p.Dry {
		p.note(l)
		return nil
	}
	holder, err := host.Reclaim(ctx, p.LockDir, p.Journal)
	if holder != nil {
		l.Kept, l.Note = true, "the machine is held by "+holder.String()
	}
	p.note(l)
	return err
}

func (p *Reaper) logger() *slog.Logger {
	if p.Logger == nil {
		return discard
	}
	return p.Logger
}

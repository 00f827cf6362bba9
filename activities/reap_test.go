package activities

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/durabench/durabench/activities/secrets"
	"github.com/durabench/durabench/bench/spec"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/docker"
	"github.com/durabench/durabench/infra/host"
	"github.com/durabench/durabench/infra/process"
	"github.com/durabench/durabench/workers/agent"
)

// reaper returns one that takes these runs for over, and does not know of "unknown".
func (b *bench) reaper(m *Machine, over ...string) *Reaper {
	return &Reaper{
		Work: b.host.Work, Owner: "test " + b.host.Work, LockDir: m.LockDir, Journal: m.Journal,
		Going: func(_ context.Context, id, of string) (bool, error) {
			if id == "unknown" {
				return true, errors.New("Temporal does not answer")
			}
			for _, one := range over {
				if id == one {
					return false, nil
				}
			}
			return true, nil
		},
	}
}

func kinds(left []Leftover) (kinds []string) {
	for _, l := range left {
		if l.Kept {
			l.Kind += " kept"
		}
		kinds = append(kinds, l.Kind)
	}
	return kinds
}

// A run was terminated in the middle: its agent lives, and so does its server where there is one.
func TestReapEndsWhatATerminatedRunLeft(t *testing.T) {
	b := newBench(t, "redis", func(s *spec.Spec) { s.Server = "process" })
	engine, _ := drivers.Lookup("redis")
	_, missing := process.Installed(engine.Server)
	ci.Need(t, missing)
	m := b.onMachine()
	b.prepare()
	server := b.start()
	b.runStep(server, "prepare")
	require.NoError(t, secrets.Write(b.run.ID, drivers.Credentials{User: "u", Password: "p"}))
	other := filepath.Join(b.host.Work, "goes-on", "data")
	require.NoError(t, os.MkdirAll(other, 0o700))

	left, err := b.reaper(m).Reap(t.Context(), ReapOptions{})
	require.NoError(t, err)
	require.Empty(t, left, "the run goes on")
	left, err = b.reaper(m, "run-1").Reap(t.Context(), ReapOptions{Except: "run-1"})
	require.NoError(t, err)
	require.Empty(t, left, "the run is the one that asks")

	r := b.reaper(m, "run-1")
	left, err = r.Reap(t.Context(), ReapOptions{Dry: true})
	require.NoError(t, err)
	require.Equal(t, []string{"agent", "server", "data", "logs kept"}, kinds(left))
	_, lives := agent.Living(b.run.Dir)
	require.True(t, lives, "a dry run ends nothing")

	left, err = r.Reap(t.Context(), ReapOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"agent", "server", "data", "logs kept"}, kinds(left))
	_, lives = agent.Living(b.run.Dir)
	require.False(t, lives)
	require.Nil(t, holder(t, m), "the machine is free")
	_, lives, err = process.Living(server.Dir)
	require.NoError(t, err)
	require.False(t, lives)
	require.NoDirExists(t, server.Dir)
	require.FileExists(t, filepath.Join(b.run.Dir, "server.log"))
	require.DirExists(t, other)
	ids, err := secrets.Older(0)
	require.NoError(t, err)
	require.Empty(t, ids)

	left, err = r.Reap(t.Context(), ReapOptions{All: true})
	require.NoError(t, err)
	require.Equal(t, []string{"logs"}, kinds(left))
	require.NoDirExists(t, b.run.Dir)
	require.DirExists(t, other)
}

// Of a run in a container that was killed with all that is ours, container and volume are left. Another installation's reaper does not touch them.
func TestReapRemovesContainersOfItsOwnRunsThatAreOver(t *testing.T) {
	image := images.Redis(t)
	b := newBench(t, "redis", func(s *spec.Spec) { s.Server, s.Image, s.Pull = "docker", image, "never" })
	m := b.onMachine()
	b.run.ID = fmt.Sprintf("reaped-%d", os.Getpid())
	b.run.Dir = filepath.Join(b.host.Work, b.run.ID)
	r := b.reaper(m, b.run.ID)
	b.server.Owner = r.Owner
	b.environment()
	b.prepare()
	t.Cleanup(func() {
		client, err := docker.New(nil)
		require.NoError(t, err)
		defer client.Close()
		require.NoError(t, client.Stop(context.Background(), b.run.ID, false))
	})
	server := b.start()
	require.NotEmpty(t, server.Container)
	require.Contains(t, server.ContainerEngine, "Docker ")

	others := b.reaper(m, b.run.ID)
	others.Owner, others.Work = "another", t.TempDir()
	left, err := others.Reap(t.Context(), ReapOptions{All: true})
	require.NoError(t, err)
	require.Empty(t, left)
	goingOn := b.reaper(m)
	left, err = goingOn.Reap(t.Context(), ReapOptions{All: true})
	require.NoError(t, err)
	require.Empty(t, left)
	left, err = r.Reap(t.Context(), ReapOptions{Dry: true})
	require.NoError(t, err)
	require.Equal(t, []string{"data", "logs kept", "container", "volume"}, kinds(left))
	left, err = r.Reap(t.Context(), ReapOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"data", "logs kept", "container", "volume"}, kinds(left))
	left, err = r.Reap(t.Context(), ReapOptions{Dry: true, All: true})
	require.NoError(t, err)
	require.Equal(t, []string{"logs"}, kinds(left))
}

func TestReapKeepsWhatItDoesNotKnow(t *testing.T) {
	b := newBench(t, "map", nil)
	m := b.onMachine()
	data := filepath.Join(b.host.Work, "unknown", "data")
	require.NoError(t, os.MkdirAll(data, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(b.host.Work, "worker.lock"), nil, 0o600))
	left, err := b.reaper(m, "worker.lock").Reap(t.Context(), ReapOptions{All: true})
	require.ErrorContains(t, err, "Temporal does not answer")
	require.Empty(t, left)
	require.DirExists(t, data)
	require.FileExists(t, filepath.Join(b.host.Work, "worker.lock"))
}

func TestOldLogsArePruned(t *testing.T) {
	b := newBench(t, "map", nil)
	m := b.onMachine()
	var over []string
	for n := range keptLogs + 3 {
		id := fmt.Sprintf("run-%02d", n)
		dir := filepath.Join(b.host.Work, id)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		at := time.Now().Add(-time.Duration(n) * time.Minute)
		if n == 1 {
			at = at.Add(-keptFor)
		}
		require.NoError(t, os.Chtimes(dir, at, at))
		over = append(over, id)
	}
	_, err := b.reaper(m, over...).Reap(t.Context(), ReapOptions{})
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Join(b.host.Work, "run-01"), "it is too old")
	require.DirExists(t, filepath.Join(b.host.Work, fmt.Sprintf("run-%02d", keptLogs)))
	require.NoDirExists(t, filepath.Join(b.host.Work, fmt.Sprintf("run-%02d", keptLogs+1)))
}

func TestReapPutsTheMachineBack(t *testing.T) {
	b := newBench(t, "map", nil)
	m := b.onMachine()
	// A journal of a change that was never made: putting it back changes nothing of the machine.
	journal := `{"version":1,"run":"run-1","since":"2026-01-01T00:00:00Z"}` + "\n"
	require.NoError(t, os.WriteFile(filepath.Join(m.Journal, "isolation.journal"), []byte(journal), 0o600))
	left, err := b.reaper(m).Reap(t.Context(), ReapOptions{})
	require.NoError(t, err)
	require.Empty(t, left, "the run goes on")
	held, err := host.Lock(m.LockDir, host.Holder{RunID: "another"})
	require.NoError(t, err)
	left, err = b.reaper(m, "run-1").Reap(t.Context(), ReapOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"machine kept"}, kinds(left))
	require.NoError(t, held.Close())
	left, err = b.reaper(m, "run-1").Reap(t.Context(), ReapOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"machine"}, kinds(left))
	_, _, changed := host.Left(m.Journal)
	require.False(t, changed)
}

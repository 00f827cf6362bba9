package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
)

// Kind is a kind of thing that a container engine keeps.
type Kind string

// The kinds.
const (
	Container Kind = "container"
	Volume    Kind = "volume"
	Network   Kind = "network"
)

// Thing is something of ours that was found in the container engine.
type Thing struct {
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	RunID  string `json:"runId"`
	Engine string `json:"engine,omitempty"`
	// Owner is the installation that started it, as Options.Owner.
	Owner string `json:"owner,omitempty"`
	// Kept says why it was to outlive its run: "data" that a load left for queries, or a "failure" to be looked at; empty for what was not.
	Kept string `json:"kept,omitempty"`
}

// Reaped is what became of the things of ours whose runs are over.
type Reaped struct {
	Removed []Thing `json:"removed,omitempty"`
	// Stopped are containers that ran and are kept to be looked at.
	Stopped []Thing `json:"stopped,omitempty"`
	// Kept are data that a load left for queries, and what was left of runs that failed and were to be kept then.
	Kept []Thing `json:"kept,omitempty"`
}

// Reap removes the containers, volumes and networks of ours that keep does not want kept, and nothing else: keep knows whose they are, and whether
// their run goes on. What outlives its run on purpose stays unless all is set. It goes on after an error.
func (c *Client) Reap(ctx context.Context, keep func(Thing) bool, all bool) (Reaped, error) {
	r := reaper{Client: c, keep: keep, all: all}
	err := errors.Join(r.containers(ctx), r.volumes(ctx), r.networks(ctx))
	for _, thing := range r.Removed {
		c.log.Info("removed what a run left", "kind", thing.Kind, "name", thing.Name, "run", thing.RunID)
	}
	if err != nil {
		return r.Reaped, fmt.Errorf("remove what runs left: %w", err)
	}
	return r.Reaped, nil
}

type reaper struct {
	*Client
	Reaped
	keep func(Thing) bool
	all  bool
}

// orphan tells whether something is ours and of a run that is over.
func (r *reaper) orphan(kind Kind, name string, labels map[string]string) (Thing, bool) {
	run, is := ours(labels)
	thing := Thing{Kind: kind, Name: name, RunID: run, Engine: labels[labelEngine], Owner: labels[labelOwner], Kept: labels[labelKept]}
	return thing, is && !r.keep(thing)
}

func (r *reaper) containers(ctx context.Context) error {
	all, err := r.Client.containers(ctx, oursFilter())
	if err != nil {
		return err
	}
	var problems []error
	for _, summary := range all {
		thing, is := r.orphan(Container, nameOf(summary), summary.Labels)
		if !is {
			continue
		}
		problems = append(problems, r.container(ctx, thing, summary))
	}
	return errors.Join(problems...)
}

func (r *reaper) container(ctx context.Context, thing Thing, summary container.Summary) error {
	runs := summary.State == container.StateRunning || summary.State == container.StatePaused || summary.State == container.StateRestarting
	if summary.Labels[labelKept] != "" && !r.all {
		r.Kept = append(r.Kept, thing)
		if !runs {
			return nil
		}
		if err := r.halt(ctx, summary.ID, stopGrace); err != nil {
			return err
		}
		r.Stopped = append(r.Stopped, thing)
		return nil
	}
	if runs {
		// Gently, as there may be data on its volume that is kept.
		if err := r.halt(ctx, summary.ID, stopGrace); err != nil {
			return err
		}
	}
	if err := r.remove(ctx, summary.ID); err != nil {
		return err
	}
	r.Removed = append(r.Removed, thing)
	return nil
}

func (r *reaper) volumes(ctx context.Context) error {
	all, err := r.Client.volumes(ctx, oursFilter())
	if err != nil {
		return err
	}
	var problems []error
	for _, v := range all {
		thing, is := r.orphan(Volume, v.Name, v.Labels)
		if !is {
			continue
		}
		if v.Labels[labelKept] != "" && !r.all {
			r.Kept = append(r.Kept, thing)
			continue
		}
		if err := r.removeVolume(ctx, v.Name); err != nil {
			problems = append(problems, err)
			continue
		}
		r.Removed = append(r.Removed, thing)
	}
	return errors.Join(problems...)
}

// networks removes networks too, should there ever be one of ours.
func (r *reaper) networks(ctx context.Context) error {
	all, err := r.api.NetworkList(ctx, network.ListOptions{Filters: oursFilter()})
	if err != nil {
		return fmt.Errorf("list networks: %w", err)
	}
	var problems []error
	for _, n := range all {
		thing, is := r.orphan(Network, n.Name, n.Labels)
		if !is {
			continue
		}
		if err := r.api.NetworkRemove(ctx, n.ID); err != nil && !errdefs.IsNotFound(err) {
			problems = append(problems, fmt.Errorf("remove network %s: %w", n.Name, err))
			continue
		}
		r.Removed = append(r.Removed, thing)
	}
	return errors.Join(problems...)
}

package docker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/durabench/durabench/drivers"
)

// readyTimeout is how long a server may take to answer, when the caller does not say: longer than for a process, as a first start makes the data
// directory too.
const readyTimeout = 2 * time.Minute

// Options say which server to start and how.
type Options struct {
	// Engine is the engine's title, for messages; Name is its name, for names and labels.
	Engine, Name string
	// Server describes the server.
	Server *drivers.Server
	// RunID names the run that the server belongs to, Step the step that starts it.
	RunID, Step string
	// Owner names the installation that the run is of, such as its home directory: Reap tells by it whose leftovers they are.
	Owner string
	// Image is the image to run; empty for the engine's own.
	Image string
	// Pull tells when to fetch the image; empty for PullMissing.
	Pull PullPolicy
	// Progress is told how a pull goes on. It may be nil.
	Progress func(Progress)
	// Binary is the server's binary in the image; empty for the first that Server names.
	Binary string
	// Profile, Tier, Resources and Connections decide the settings, as in drivers.Launch. Resources are the host's: what CPUs and MemoryBytes
	// leave of them is what settings are computed from.
	Profile     drivers.Profile
	Tier        drivers.Tier
	Resources   drivers.Resources
	Connections int
	// CPUs are the CPUs that the server may run on, e.g. "0-3,8"; empty for all.
	CPUs string
	// MemoryBytes limits the server's memory, swap included; 0 for no limit.
	MemoryBytes int64
	// Volume names a volume that outlives the run, see VolumeName; empty for one that goes with the run.
	Volume string
	// Loaded tells that the volume has been loaded before: it must be there.
	Loaded bool
	// Published has clients go through the published port even where they can reach the container itself, see State.Direct.
	Published bool
	// KeepOnFailure leaves the stopped container of a failed start, and its volume, to be looked at. Reap stops such a container of a run that is over,
	// and leaves it.
	KeepOnFailure bool
	// Ready makes a real connection to the server and is called until it returns nil. It must be given: the engine accepts connections to a published
	// port before there is a server behind it.
	Ready func(context.Context, *Running) error
	// ReadyTimeout is how long the server may take to be ready; 0 for two minutes.
	ReadyTimeout time.Duration
}

// complete fills in what was left out, and returns all that is wrong with the rest.
func (o *Options) complete() error {
	var problems []error
	problem := func(format string, values ...any) { problems = append(problems, fmt.Errorf(format, values...)) }
	if o.Name == "" || o.RunID == "" {
		problem("the names of engine and run are needed to find the container again")
	}
	if o.Ready == nil {
		problem("nothing tells when the server is ready")
	}
	switch {
	case o.Server == nil:
		problem("the engine has no server")
	default:
		if o.Image == "" {
			o.Image = o.Server.Image
		}
		if o.Image == "" {
			problem("the engine has no image of its own: name one with --image")
		}
		if o.Binary == "" && len(o.Server.Binaries) > 0 {
			o.Binary = o.Server.Binaries[0]
		}
		if o.Server.Port == 0 {
			problem("the engine does not say on which port it listens in a container")
		}
	}
	if o.Pull == "" {
		o.Pull = PullMissing
	}
	if err := o.Pull.check(); err != nil {
		problems = append(problems, err)
	}
	cpus, err := countCPUs(o.CPUs)
	if err != nil {
		problems = append(problems, err)
	}
	if o.MemoryBytes < 0 {
		problem("memory limit of %d bytes: it cannot be negative", o.MemoryBytes)
	}
	if o.Loaded && o.Volume == "" {
		problem("a server on loaded data needs the volume that holds it")
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = readyTimeout
	}
	if cpus > 0 && (o.Resources.CPUs == 0 || cpus < o.Resources.CPUs) {
		o.Resources.CPUs = cpus
	}
	if o.MemoryBytes > 0 && (o.Resources.MemoryBytes == 0 || o.MemoryBytes < o.Resources.MemoryBytes) {
		o.Resources.MemoryBytes = o.MemoryBytes
	}
	if len(problems) > 0 {
		return fmt.Errorf("%w: %w", ErrOptions, errors.Join(problems...))
	}
	return nil
}

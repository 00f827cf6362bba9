// Package docker runs database servers in containers: it starts an image of the server from the same description that infra/process starts the
// server's own binary from.
//
// A server outlives the program that started it and is found again by its labels; nothing of it is kept outside the container engine. Its volume
// holds all there is to know of it, and is mounted at /durabench:
//
//	password     the generated password; neither command, environment nor labels carry it
//	ready        is there once the server was ready: what an interrupted first start leaves is thrown away
//	server/      the launch directory: the engine's files, and the data in data/
//
// Start is idempotent: it adopts the container of the run, starts one again that died, on the data that it left, and replaces one that was made
// to another specification. Whatever fails, no container is left behind unless it was asked to stay.
package docker

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/docker/docker/client"
)

// What went wrong, for callers that branch on it. Trying again cures none of these but ErrRegistry and ErrNotReady.
var (
	// ErrUnavailable tells that there is no container engine to be used on this machine. The error says what to do.
	ErrUnavailable = errors.New("no container engine")
	// ErrOptions tells that no container can be made of what was asked for.
	ErrOptions = errors.New("the container cannot be made as asked")
	// ErrImage tells that the image is not on this machine and cannot be had.
	ErrImage = errors.New("no image")
	// ErrWrongImage is an ErrImage of a name that stands for no image of the server: the registry has none, or does not give it to us, or it has
	// no program of the server's.
	ErrWrongImage = fmt.Errorf("%w of the server", ErrImage)
	// ErrRegistry tells that the image could not be fetched for a reason that is not the image's: the network, the registry, the disk.
	ErrRegistry = errors.New("image cannot be fetched now")
	// ErrVolume tells that a volume is not there, is not ours or is in use.
	ErrVolume = errors.New("volume cannot be used")
	// ErrNoContainer tells that a run has no container.
	ErrNoContainer = errors.New("no container")
	// ErrNotReady tells that the server exited or gave no answer in time. The error carries the end of its log.
	ErrNotReady = errors.New("server is not ready")
	// ErrExited is an ErrNotReady of a server that ended by itself. Once may be an accident; one that does it again will go on doing it.
	ErrExited = fmt.Errorf("%w", errEnded)
)

// Client talks to the container engine of this machine. Its methods may be called from many goroutines.
type Client struct {
	api *client.Client
	log *slog.Logger
	// where is the engine's address, for messages.
	where string
	// patience is how long another start may take between making a container and starting it.
	patience time.Duration
	// pullPause is how long a pull that failed waits before it is tried again.
	pullPause time.Duration
}

// New makes a client of the engine that the docker command would use: by DOCKER_HOST, by its context, or at one of the usual sockets. It does not
// connect, see Available. The logger may be nil.
func New(logger *slog.Logger) (*Client, error) {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	address, err := findEngine()
	if err != nil {
		return nil, err
	}
	options := []client.Opt{client.FromEnv, client.WithAPIVersionNegotiation()}
	if address != "" {
		options = append(options, client.WithHost(address))
	}
	api, err := client.NewClientWithOpts(options...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnavailable, err)
	}
	if err := local(api.DaemonHost()); err != nil {
		return nil, errors.Join(err, api.Close())
	}
	return &Client{api: api, log: logger, where: api.DaemonHost(), patience: createdGrace, pullPause: pullPause}, nil
}

// Close releases the client's connections.
func (c *Client) Close() error { return c.api.Close() }

package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/docker/docker/api/types/versions"
	"github.com/docker/docker/client"
)

// oldestAPI is the version of the Engine API that we are tested with from on: Docker Engine 20.10.
const oldestAPI = "1.41"

// Engine is a container engine.
type Engine struct {
	Address string `json:"address"`
	Version string `json:"version"`
	// API is the version that both sides speak.
	API     string `json:"api"`
	OS      string `json:"os"` // the kernel's, with its version
	Machine string `json:"machine"`
}

// String names the engine with what bears on a comparison: "Docker 28.2.2, API 1.50, at unix:///var/run/docker.sock".
func (e Engine) String() string {
	return fmt.Sprintf("Docker %s, API %s, at %s", e.Version, e.API, e.Address)
}

// Available tells which container engine there is. Its error says why there is none, and what to do.
func (c *Client) Available(ctx context.Context) (Engine, error) {
	ping, err := c.api.Ping(ctx)
	if err != nil {
		return Engine{}, c.unavailable(err)
	}
	if versions.LessThan(ping.APIVersion, oldestAPI) {
		return Engine{}, fmt.Errorf("%w: the engine at %s speaks version %s of the API; %s is needed: install Docker Engine 20.10 or later", ErrUnavailable, c.where, ping.APIVersion, oldestAPI)
	}
	if ping.OSType != "" && ping.OSType != "linux" {
		return Engine{}, fmt.Errorf("%w: the engine at %s runs %s containers: switch it to Linux containers", ErrUnavailable, c.where, ping.OSType)
	}
	c.api.NegotiateAPIVersionPing(ping)
	version, err := c.api.ServerVersion(ctx)
	if err != nil {
		return Engine{}, c.unavailable(err)
	}
	return Engine{
		Address: c.where, Version: version.Version, API: c.api.ClientVersion(), OS: version.Os + " " + version.KernelVersion, Machine: version.Arch,
	}, nil
}

// unavailable says what to do about an engine that does not answer.
func (c *Client) unavailable(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s does not let this user in: add the user to its group (usually docker), or run as root", ErrUnavailable, c.where)
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("%w: nothing answers at %s: install Docker Engine (apt-get install docker.io) and start it (systemctl start docker, or dockerd)", ErrUnavailable, c.where)
	}
	return fmt.Errorf("%w: ask the engine at %s: %w", ErrUnavailable, c.where, err)
}

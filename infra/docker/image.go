package docker

import (
	"context"
	"fmt"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
)

// PullPolicy tells when an image is fetched.
type PullPolicy string

// The pull policies.
const (
	PullMissing PullPolicy = "missing" // when it is not on this machine
	PullAlways  PullPolicy = "always"  // each time a container is made, as the name may have moved on
	PullNever   PullPolicy = "never"
)

// PullPolicies are all policies, the default first.
var PullPolicies = []PullPolicy{PullMissing, PullAlways, PullNever}

func (p PullPolicy) check() error {
	for _, known := range PullPolicies {
		if p == known {
			return nil
		}
	}
	return fmt.Errorf("pull policy %q: it is missing, always or never", p)
}

// ensureImage returns the image, fetched by the policy.
func (c *Client) ensureImage(ctx context.Context, o *Options) (image.InspectResponse, error) {
	if _, err := reference.ParseNormalizedNamed(o.Image); err != nil {
		return image.InspectResponse{}, fmt.Errorf("%w: %q is not the name of an image: %w", ErrWrongImage, o.Image, err)
	}
	found, err := c.api.ImageInspect(ctx, o.Image)
	if err != nil && !errdefs.IsNotFound(err) {
		return found, fmt.Errorf("look up image %s: %w", o.Image, err)
	}
	here := err == nil
	switch {
	case here && o.Pull != PullAlways:
		return found, nil
	case o.Pull == PullNever:
		return found, fmt.Errorf("%w: %s is not on this machine, and --pull never forbids to fetch it: run `docker pull %s`, or name another with --image", ErrImage, o.Image, o.Image)
	}
	if err := c.pullAgain(ctx, o.Image, o.Progress); err != nil {
		if ctx.Err() != nil {
			return found, fmt.Errorf("pull image %s: %w", o.Image, context.Cause(ctx))
		}
		kind := ErrRegistry
		if isVerdict(err) {
			kind = ErrWrongImage
		}
		if here {
			return found, fmt.Errorf("%w: pull %s: %w; --pull missing takes the one that is on this machine", kind, o.Image, err)
		}
		return found, fmt.Errorf("%w: %s is not on this machine and cannot be pulled: %w; load it with `docker load` or `docker import`, or name another with --image", kind, o.Image, err)
	}
	if found, err = c.api.ImageInspect(ctx, o.Image); err != nil {
		return found, fmt.Errorf("look up image %s after it was pulled: %w", o.Image, err)
	}
	return found, nil
}

// imageDigest identifies an image: by the digest that its repository has for it, or by its own id when it came from no repository.
func imageDigest(name string, found image.InspectResponse) string {
	named, err := reference.ParseNormalizedNamed(name)
	for _, digest := range found.RepoDigests {
		of, parseErr := reference.ParseNormalizedNamed(digest)
		if err == nil && parseErr == nil && of.Name() == named.Name() {
			return digest
		}
	}
	for _, digest := range found.RepoDigests {
		if !strings.HasPrefix(digest, "<none>") {
			return digest
		}
	}
	return found.ID
}

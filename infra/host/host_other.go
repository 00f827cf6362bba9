//go:build !linux && !darwin

package host

import (
	"context"

	"github.com/durabench/durabench/bench/result"
)

// describe knows nothing more of this system than the Go runtime does.
func describe(context.Context, *result.Host, string) {}

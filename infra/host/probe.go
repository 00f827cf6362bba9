package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/durabench/durabench/bench/result"
)

// Probe measures what a fingerprint cannot read: how long the device of dataDir takes to flush a write of 4 KiB, and what part of the CPU
// time that was wanted in a window the hypervisor gave to others. It writes some hundred kilobytes, and no file of it is left behind. Without
// dataDir or window that part is not measured; what could not be is in the error, beside the rest. It returns nil when nothing was
// measured. The result belongs into result.Host.Probe and is no part of the digest.
func Probe(ctx context.Context, dataDir string, window time.Duration) (*result.HostProbe, error) {
	var p result.HostProbe
	var problems []error
	if dataDir != "" {
		if err := flushes(ctx, existing(dataDir), &p); err != nil {
			problems = append(problems, fmt.Errorf("measure the flush latency of %s: %w", dataDir, err))
		}
	}
	if window > 0 {
		if share, err := stolen(ctx, window); err != nil {
			problems = append(problems, fmt.Errorf("measure what the hypervisor takes: %w", err))
		} else if share >= 0 {
			p.StealShare, p.StealNs = &share, window.Nanoseconds()
		}
	}
	if p == (result.HostProbe{}) {
		return nil, errors.Join(problems...)
	}
	return &p, errors.Join(problems...)
}

const (
	flushCount = 100
	flushBlock = 4096 // bytes
)

// flushes writes blocks over a file that is there in full already, as databases write their logs, so that a flush writes the block and
// no new length.
func flushes(ctx context.Context, dir string, p *result.HostProbe) error {
	file, err := os.CreateTemp(dir, ".durabench-flush-*")
	if err != nil {
		return err
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil { // it lives until it is closed, whatever happens to this process
		return err
	}
	block := make([]byte, flushBlock)
	for i := range block {
		block[i] = byte(i*7 + i>>8) // nothing that a device stores as a hole
	}
	for n := range flushCount {
		if _, err := file.WriteAt(block, int64(n)*flushBlock); err != nil {
			return err
		}
	}
	if err := file.Sync(); err != nil {
		return err
	}
	took := make([]time.Duration, 0, flushCount)
	for n := range flushCount {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		block[0]++
		begun := time.Now()
		if _, err := file.WriteAt(block, int64(n)*flushBlock); err != nil {
			return err
		}
		if err := syncData(file); err != nil {
			return err
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	p.Flushes, p.FlushMedianNs, p.FlushP99Ns = flushCount, took[flushCount/2].Nanoseconds(), took[flushCount*99/100-1].Nanoseconds()
	return nil
}

// existing returns dir, or the nearest directory above it that exists, without symbolic links.
func existing(dir string) string {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "/"
	}
	for {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return real
		}
		parent := filepath.Dir(dir)
		if _, err := os.Lstat(dir); parent == dir || err == nil { // err == nil: a link that leads nowhere, where nothing can be made
			return parent
		}
		dir = parent
	}
}

package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/infra/ci"
	"github.com/durabench/durabench/infra/process"
)

func TestAFullDiskIsSaid(t *testing.T) {
	disk := directory(t)
	defer os.Remove(disk)
	if err := syscall.Mount("tmpfs", disk, "tmpfs", 0, "size=12m,mode=711"); err != nil {
		ci.Need(t, fmt.Errorf("mount a small disk, which takes root: %w", err))
	}
	defer func() {
		if err := syscall.Unmount(disk, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}()
	dir := filepath.Join(disk, "server")
	_, err := process.Start(t.Context(), process.Options{Engine: "PostgreSQL", Server: engine(t).Server, RunID: "test", Dir: dir, Tier: drivers.TierOS, Ready: ready})
	if errors.Is(err, process.ErrNotInstalled) {
		ci.Need(t, err)
	}
	if err == nil || !strings.Contains(err.Error(), "No space left on device") || !strings.Contains(err.Error(), "is full: free some space") {
		t.Errorf("error does not say that the disk is full: %v", err)
	}
	if running, _ := process.Alive(dir); running != nil {
		t.Error("a server is left")
	}
	if err := process.Stop(context.Background(), dir, false); err != nil {
		t.Error(err)
	}
}

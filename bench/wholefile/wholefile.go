// Package wholefile replaces small files so that whoever reads one finds the old content or the new one, also after a crash of the machine.
package wholefile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/moby/sys/atomicwriter"
)

// Write replaces the file at path, in a directory that is there, by one of the content and the mode. The content is on the device before the name
// points to it, and the name before Write returns.
func Write(path string, content []byte, mode fs.FileMode) error {
	if err := atomicwriter.WriteFile(path, content, mode); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Unfinished returns the pattern, for filepath.Glob, of what a Write to path leaves when its process is killed.
func Unfinished(path string) string {
	return filepath.Join(filepath.Dir(path), ".tmp-"+filepath.Base(path)+"*")
}

// SyncDir makes what was renamed, made or removed in a directory survive a crash of the machine. Filesystems on which directories need no flush, and say
// so, are none the worse.
func SyncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := file.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("flush directory %s: %w", dir, err)
	}
	return nil
}

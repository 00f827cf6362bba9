package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/durabench/durabench/bench/wholefile"
)

// temporary begins the names of files that are being written. A crash may leave one behind; nothing ever reads it.
const temporary = ".put-"

// directory is a Store of one file per key.
type directory struct {
	root string // absolute
}

var (
	_ Store   = (*directory)(nil)
	_ Locator = (*directory)(nil)
	_ Checker = (*directory)(nil)
)

func newDirectory(path string) (*directory, error) {
	root, err := filepath.Abs(path) // a later change of the working directory must not move the store
	if err != nil {
		return nil, fmt.Errorf("store %s: %w", path, err)
	}
	if strings.ContainsRune(root, 0) {
		return nil, fmt.Errorf("store %q: the path holds a NUL byte", path)
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("store %s: is a file; name a directory", root)
	}
	return &directory{root: root}, nil
}

// Path returns the absolute path of the key's file.
func (d *directory) Path(key string) string { return filepath.Join(d.root, filepath.FromSlash(key)) }

// Put writes a temporary file, flushes it, and links it to its name: link, unlike rename, fails when the name is taken, so of many
// writers exactly one wins and a reader never sees half a file.
func (d *directory) Put(ctx context.Context, key string, data []byte) error {
	if err := ValidKey(key); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("put %s: %w", key, err)
	}
	path := d.Path(key)
	dir := filepath.Dir(path)
	if err := d.makeDir(dir); err != nil {
		return explain("create directory", dir, err)
	}
	temp, err := writeTemporary(dir, data)
	if err != nil {
		return explain("write", path, err)
	}
	defer os.Remove(temp) // after the link it is a second name of the same file
	switch err := publish(temp, path); {
	case errors.Is(err, fs.ErrExist):
		if err := same(path, data); err != nil {
			return err
		}
	case err != nil:
		return explain("write", path, err)
	}
	// Also when the bytes were there already: whoever linked them may have crashed before this flush.
	if err := wholefile.SyncDir(dir); err != nil {
		return explain("flush directory", dir, err)
	}
	return nil
}

// Get reads the key's file.
func (d *directory) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ValidKey(key); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	data, err := os.ReadFile(d.Path(key))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, fmt.Errorf("read %s: %w", d.Path(key), ErrNotFound)
	}
	if err != nil {
		return nil, explain("read", d.Path(key), err)
	}
	return data, nil
}

// List walks the directory. A store that does not exist yet is empty. Files whose names could not be keys are someone else's.
func (d *directory) List(ctx context.Context, prefix string) ([]string, error) {
	// The walk begins at the deepest directory that the prefix names, so that listing a run does not read the others.
	start := d.root
	if i := strings.LastIndexByte(prefix, '/'); i >= 0 {
		if err := ValidKey(prefix[:i]); err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
		start = d.Path(prefix[:i])
	}
	var keys []string
	// With a separator at its end, a start that is a symbolic link is walked; links below it are not followed.
	err := filepath.WalkDir(start+string(filepath.Separator), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR):
			return nil // removed meanwhile, or never there
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		below, err := filepath.Rel(d.root, path)
		if err != nil {
			return err
		}
		if key := filepath.ToSlash(below); strings.HasPrefix(key, prefix) && ValidKey(key) == nil {
			keys = append(keys, key)
		}
		return nil
	})
	if err != nil {
		return nil, explain("list", start, err)
	}
	slices.Sort(keys)
	return keys, nil
}

// Check creates the directory where it is missing and tries a write in it.
func (d *directory) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("check store %s: %w", d.root, err)
	}
	if err := d.makeDir(d.root); err != nil {
		return explain("create directory", d.root, err)
	}
	temp, err := writeTemporary(d.root, []byte("durabench checks that results can be written here\n"))
	if err != nil {
		return explain("write in", d.root, err)
	}
	if err := os.Remove(temp); err != nil {
		return explain("remove", temp, err)
	}
	return nil
}

// makeDir creates dir and its missing parents, and flushes each parent so that the new entry survives a crash.
func (d *directory) makeDir(dir string) error {
	info, err := os.Stat(dir)
	if err == nil {
		if !info.IsDir() {
			return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.ENOTDIR}
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	parent := filepath.Dir(dir)
	if err := d.makeDir(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return wholefile.SyncDir(parent)
}

// writeTemporary writes data to a new file in dir and flushes it. Nothing is left behind when it fails.
func writeTemporary(dir string, data []byte) (path string, err error) {
	file, err := os.CreateTemp(dir, temporary+"*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	// CreateTemp makes files private; results are for everyone who may look into the directory.
	if err := file.Chmod(0o644); err != nil {
		return "", err
	}
	if _, err := file.Write(data); err != nil {
		return "", err
	}
	if err := file.Sync(); err != nil {
		return "", err
	}
	return file.Name(), file.Close()
}

// publish gives the finished file its name, unless that is taken.
func publish(temp, path string) error {
	err := os.Link(temp, path)
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) {
		// Some filesystems have no hard links. There the look before the rename is not atomic: two writers of different bytes in the
		// same instant could both succeed, and the later one stays.
		if _, err := os.Lstat(path); err == nil {
			return fs.ErrExist
		}
		return os.Rename(temp, path)
	}
	return err
}

// same returns nil when path holds exactly data.
func same(path string, data []byte) error {
	there, err := os.ReadFile(path)
	if err != nil {
		return explain("read", path, err)
	}
	if !bytes.Equal(there, data) {
		return fmt.Errorf("write %s: %w (%d bytes are there, %d were to be written); a stored result is never replaced: choose another run id",
			path, ErrExists, len(there), len(data))
	}
	return nil
}

// explain says what was being done, to what, what came back and what to do.
func explain(doing, path string, err error) error {
	cause := err
	if inner := (*fs.PathError)(nil); errors.As(err, &inner) {
		cause = inner.Err // its path may be that of a temporary file
	} else if inner := (*os.LinkError)(nil); errors.As(err, &inner) {
		cause = inner.Err
	}
	advice := ""
	switch {
	case errors.Is(err, syscall.ENOSPC):
		advice = "; free some space or choose another store"
	case errors.Is(err, syscall.EDQUOT):
		advice = "; the disk quota is used up: free some space or choose another store"
	case errors.Is(err, syscall.EROFS):
		advice = "; the filesystem is mounted read-only: choose another store"
	case errors.Is(err, fs.ErrPermission):
		advice = "; make the directory accessible to this user or choose another store"
	case errors.Is(err, syscall.ENOTDIR):
		advice = "; a file stands where a directory is needed: move it or choose another store"
	}
	return fmt.Errorf("%s %s: %w%s", doing, path, cause, advice)
}

package host

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/durabench/durabench/bench/wholefile"
)

// journalFile is the journal's name in its directory.
const journalFile = "isolation.journal"

// header begins a journal.
type header struct {
	Version int       `json:"version"`
	Run     string    `json:"run,omitempty"`
	Boot    string    `json:"boot,omitempty"` // the kernel's id of this boot; after another one nothing of what was changed is left
	Since   time.Time `json:"since"`
}

// entry is one change of the machine. It is on the device before the change is made, so a change that was made is always in the journal,
// and one in the journal was perhaps never made.
type entry struct {
	Step   string `json:"step"`
	Knob   string `json:"knob"`
	Object string `json:"object"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// journal is the file of what is changed, one line of JSON per entry. It is made with the first entry: where nothing is changed there is
// none.
type journal struct {
	path string
	head header
	file *os.File
	size int64 // bytes that are known to be whole
}

// openJournal prepares a journal that goes on behind what lies in dir already.
func openJournal(dir string, head header) (*journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the isolation journal: %w", err)
	}
	head.Version = 1
	return &journal{path: filepath.Join(dir, journalFile), head: head}, nil
}

// add makes sure that a change is on the device before it is made.
func (j *journal) add(e entry) error {
	if j.file == nil {
		if err := j.create(); err != nil {
			return fmt.Errorf("write down the old value: %w", err)
		}
	}
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("write down the old value: %w", err)
	}
	if err := j.append(append(line, '\n')); err != nil {
		return fmt.Errorf("write down the old value: %w", err)
	}
	return nil
}

// create makes the file with its header, or opens the one that is there, whose torn end, if any, is cut off.
func (j *journal) create() error {
	whole, err := readOwn(j.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(j.path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	j.file, j.size = file, int64(len(whole))
	if err := file.Truncate(j.size); err != nil {
		return j.abandon(err)
	}
	if j.size == 0 {
		line, err := json.Marshal(j.head)
		if err != nil {
			return j.abandon(err)
		}
		if err := j.append(append(line, '\n')); err != nil {
			return j.abandon(err)
		}
	}
	if err := wholefile.SyncDir(filepath.Dir(j.path)); err != nil {
		return j.abandon(err)
	}
	return nil
}

func (j *journal) abandon(err error) error {
	_ = j.file.Close()
	j.file = nil
	return err
}

// append writes a line whole or not at all, as far as this process lives.
func (j *journal) append(line []byte) error {
	_, err := j.file.WriteAt(line, j.size)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return errors.Join(err, j.file.Truncate(j.size))
	}
	j.size += int64(len(line))
	return nil
}

func (j *journal) close() {
	if j.file != nil {
		_ = j.file.Close()
		j.file = nil
	}
}

// readOwn returns the lines of a journal that are complete. A line without its end was being written when its writer was killed: what it
// announces was never done.
//
// It reads no journal that someone else can have written, since what it says is done with our rights.
func readOwn(path string) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no plain file", path)
	case ok && int(owner.Uid) != os.Geteuid() && owner.Uid != 0:
		return nil, fmt.Errorf("%s belongs to user %d: what it says is not done with the rights of user %d", path, owner.Uid, os.Geteuid())
	case info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s can be written by others (%v): what it says is not done", path, info.Mode().Perm())
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, err
	}
	return text[:bytes.LastIndexByte(text, '\n')+1], nil
}

// readJournal returns what a journal says; unreadable are the lines that say nothing, each with why. A missing journal is fs.ErrNotExist.
func readJournal(dir string) (head header, entries []entry, unreadable []error, err error) {
	path := filepath.Join(dir, journalFile)
	text, err := readOwn(path)
	if err != nil {
		return header{}, nil, nil, err
	}
	n := 0
	for line := range bytes.Lines(text) {
		n++
		var e entry
		if n == 1 {
			err = json.Unmarshal(line, &head)
		} else if err = json.Unmarshal(line, &e); err == nil && e.Knob == "" {
			err = errors.New("it names no setting")
		}
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("%s:%d: %w", path, n, err))
		} else if n > 1 {
			entries = append(entries, e)
		}
	}
	return head, entries, unreadable, nil
}

// replaceJournal leaves only these entries in the journal, or no journal when there are none.
func replaceJournal(dir string, head header, entries []entry) error {
	path := filepath.Join(dir, journalFile)
	if len(entries) == 0 {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove the isolation journal: %w", err)
		}
		return wholefile.SyncDir(dir)
	}
	next := &journal{path: path + ".new", head: head}
	if err := os.Remove(next.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("rewrite the isolation journal: %w", err)
	}
	defer next.close()
	for _, e := range entries {
		if err := next.add(e); err != nil {
			return fmt.Errorf("rewrite the isolation journal: %w", err)
		}
	}
	if err := os.Rename(next.path, path); err != nil {
		return fmt.Errorf("rewrite the isolation journal: %w", err)
	}
	return wholefile.SyncDir(dir)
}

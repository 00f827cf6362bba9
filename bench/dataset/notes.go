package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/bench/wholefile"
)

// notesFormat is the version of what a note says, and must grow with what Check looks at.
const notesFormat = 1

// stamp tells a file from what it was before.
type stamp struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"modified"` // nanoseconds since the Unix epoch
	Changed  int64  `json:"changed"`  // of its inode: that is not set back when the modification time is
	Inode    uint64 `json:"inode"`

	regular bool
}

func stampOf(file *os.File) (stamp, error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &stat); err != nil {
		return stamp{}, fmt.Errorf("look at it: %w", err)
	}
	return stamp{
		Size: stat.Size, Modified: stat.Mtim.Nano(), Changed: stat.Ctim.Nano(), Inode: stat.Ino, regular: stat.Mode&unix.S_IFMT == unix.S_IFREG,
	}, nil
}

// settled is how long ago a file must have been changed for its note to be kept: what is written later within one tick of the filesystem's clock has the same times.
var settled = 2 * time.Second

// notes is where what was found of a file is kept.
type notes struct {
	path string // "" for nowhere
	of   string // the file, absolute
}

// note is what the file holds.
type note struct {
	Format int    `json:"format"`
	Path   string `json:"path"`
	Stamp  stamp  `json:"stamp"`
	Facts  Facts  `json:"facts"`
}

func notesOf(path, cache string) (notes, error) {
	if cache == "" {
		return notes{}, nil
	}
	of, err := filepath.Abs(path)
	if err != nil {
		return notes{}, err
	}
	sum := sha256.Sum256([]byte(of))
	return notes{path: filepath.Join(cache, "dataset-"+hex.EncodeToString(sum[:])+".json"), of: of}, nil
}

// recall returns what was kept of the file with the stamp. What cannot be read is looked at anew.
func (n notes) recall(of stamp) (Facts, bool) {
	if n.path == "" {
		return Facts{}, false
	}
	data, err := os.ReadFile(n.path)
	if err != nil {
		return Facts{}, false
	}
	kept := note{}
	of.regular = false // it is not kept
	if err := json.Unmarshal(data, &kept); err != nil || kept.Format != notesFormat || kept.Path != n.of || kept.Stamp != of {
		return Facts{}, false
	}
	return kept.Facts, true
}

// keep writes down what was found of the file with the stamp by who began to look at it then, unless the file was so new that the stamp may be that of
// another content, too.
func (n notes) keep(of stamp, facts Facts, began time.Time) error {
	if n.path == "" || began.Sub(time.Unix(0, max(of.Modified, of.Changed))) < settled {
		return nil
	}
	if err := n.write(note{Format: notesFormat, Path: n.of, Stamp: of, Facts: facts}); err != nil {
		return fmt.Errorf("remember what is in it: %w", err)
	}
	return nil
}

// write makes the directory, too.
func (n notes) write(kept note) error {
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(n.path), 0o755); err != nil {
		return err
	}
	return wholefile.Write(n.path, text, 0o600)
}

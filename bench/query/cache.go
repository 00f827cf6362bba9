package query

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/durabench/durabench/bench/wholefile"
)

// algorithm is the version of what Expected means. It is part of the cache's keys and must grow with any change after which a scan is expected to
// give something else, or which an older Expected does not tell.
const algorithm = 1

// ErrNotCached is what a Cache returns when it has nothing for a key.
var ErrNotCached = errors.New("not in the cache")

// Cache keeps expected answers by key: 64 hexadecimal digits. Several goroutines and processes may use one place at once; they put the same value
// under the same key.
type Cache interface {
	// Get returns what was put, ErrNotCached when there is nothing or when it is damaged.
	Get(key string) (*Expected, error)
	Put(key string, e *Expected) error
}

// key names the answer of a scan: the hexadecimal SHA-256 of all that it depends on.
func (d Dataset) key(s *Scan) string {
	text := fmt.Sprintf("durabench expected %d\n%s\nversion %d\nrows %d\n%s", algorithm, d.Corpus.Digest(), d.Version, d.Rows, s.shape())
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Dir is a Cache in a directory, which is made when the first answer is put: one file for each.
type Dir string

// cacheFile is what a file of a Dir holds.
type cacheFile struct {
	Key string `json:"key"`
	// Sum is the hexadecimal SHA-256 of Expected as it stands in the file: a damaged answer would be a wrong verdict.
	Sum      string          `json:"sum"`
	Expected json.RawMessage `json:"expected"`
}

// Get reads the answer.
func (d Dir) Get(key string) (*Expected, error) {
	data, err := os.ReadFile(d.path(key))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotCached
	}
	if err != nil {
		return nil, err
	}
	var file cacheFile
	if err := json.Unmarshal(data, &file); err != nil || file.Key != key || file.Sum != sumOf(file.Expected) {
		return nil, ErrNotCached
	}
	e := &Expected{}
	if err := json.Unmarshal(file.Expected, e); err != nil {
		return nil, ErrNotCached
	}
	return e, nil
}

// Put writes the answer.
func (d Dir) Put(key string, e *Expected) error {
	expected, err := json.Marshal(e)
	if err != nil {
		return err
	}
	data, err := json.Marshal(cacheFile{Key: key, Sum: sumOf(expected), Expected: expected})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(d), 0o755); err != nil {
		return err
	}
	return wholefile.Write(d.path(key), data, 0o600)
}

func (d Dir) path(key string) string { return filepath.Join(string(d), key+".json") }

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

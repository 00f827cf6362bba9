package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"time"
)

// Facts are what is known of a file whose every byte was looked at.
type Facts struct {
	SHA256     string `json:"sha256"` // of the file's bytes, in lower-case hex
	Vectors    uint64 `json:"vectors"`
	Dimensions int    `json:"dimensions"`
	// Whole tells that it holds whole numbers, numbers of vectors, and Least and Most which ones; they are 0 for components.
	Whole bool  `json:"whole,omitempty"`
	Least int64 `json:"least,omitempty"`
	Most  int64 `json:"most,omitempty"`
}

// Check looks at every byte of a file: each record must be as long as the first, and each component a number that single precision holds. What it found
// is kept in the directory cache, "" for nowhere, and is told from there the next time, as long as the file has the same path, size, times and inode. The
// error says the path and what was found.
func Check(path, cache string) (Facts, error) {
	began := time.Now()
	f, err := Open(path)
	if err != nil {
		return Facts{}, err
	}
	facts, err := f.check(cache, began)
	if err != nil {
		return Facts{}, fmt.Errorf("vectors in %s: %w", path, err)
	}
	return facts, nil
}

func (f *File) check(cache string, began time.Time) (Facts, error) {
	notes, err := notesOf(f.path, cache)
	if err != nil {
		return Facts{}, err
	}
	if facts, known := notes.recall(f.stamp); known {
		return facts, nil
	}
	facts, err := f.scan()
	if err != nil {
		return Facts{}, err
	}
	if err := f.Unchanged(); err != nil {
		return Facts{}, err
	}
	return facts, notes.keep(f.stamp, facts, began)
}

// scanBytes is how many bytes are looked at between two calls of the hash: they are in the processor's cache then.
const scanBytes = 1 << 18

// scan looks at every byte.
func (f *File) scan() (Facts, error) {
	s := f.shape
	facts := Facts{Vectors: f.Len(), Dimensions: s.dim, Whole: s.element.whole()}
	if facts.Whole {
		facts.Least, facts.Most = math.MaxInt64, math.MinInt64
	}
	h := sha256.New()
	h.Write(f.data[:s.head])
	step := max(scanBytes/s.stride, 1)
	vector, numbers := make([]float32, s.dim), make([]int64, 0, s.dim)
	for from := 0; from < s.count; from += step {
		to := min(from+step, s.count)
		h.Write(f.data[s.head+from*s.stride : s.head+to*s.stride])
		for i := from; i < to; i++ {
			if s.prefix > 0 {
				if dim := int32(binary.LittleEndian.Uint32(f.data[s.head+i*s.stride:])); int(dim) != s.dim {
					return Facts{}, fmt.Errorf("record %d says that it has %d components, the first has %d", i, dim, s.dim)
				}
			}
			if facts.Whole {
				numbers = f.Numbers(numbers[:0], uint64(i))
				for _, n := range numbers {
					facts.Least, facts.Most = min(facts.Least, n), max(facts.Most, n)
				}
				continue
			}
			f.Vector(vector, uint64(i))
			for j, x := range vector {
				if x-x != 0 { // NaN, and what is infinite
					return Facts{}, fmt.Errorf("component %d of vector %d is %v, or does not fit in single precision", j, i, x)
				}
			}
		}
	}
	facts.SHA256 = hex.EncodeToString(h.Sum(nil))
	return facts, nil
}

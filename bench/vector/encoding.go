package vector

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// magic begins a truth in a file.
const magic = "durabench truth 1\n"

// Write writes the truth as ReadTruth reads it. The same truth is the same bytes.
func (t *Truth) Write(w io.Writer) error {
	_, err := w.Write(encode(t, t.Rows))
	return err
}

// ReadTruth reads what Write has written, to the end of r. What is damaged, or only a checkpoint, is an error.
func ReadTruth(r io.Reader) (*Truth, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("read a truth: %w", err)
	}
	t, done, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("read a truth: %w", err)
	}
	if done != t.Rows {
		return nil, fmt.Errorf("read a truth: it is of %d rows of %d only", done, t.Rows)
	}
	return t, nil
}

// encode returns the truth of the rows below done as bytes.
func encode(t *Truth, done uint64) []byte {
	b := []byte(magic)
	b = binary.AppendUvarint(b, done)
	b = append(binary.AppendUvarint(b, uint64(len(t.Digest))), t.Digest...)
	b = binary.AppendUvarint(b, uint64(t.K))
	b = binary.AppendUvarint(b, t.Rows)
	b = binary.AppendUvarint(b, uint64(len(t.Answers)))
	for _, a := range t.Answers {
		b = append(binary.AppendUvarint(b, uint64(len(a.Filter))), a.Filter...)
		b = binary.AppendUvarint(b, uint64(a.Matches))
		b = binary.AppendUvarint(b, uint64(len(a.Nearest)))
		for q, list := range a.Nearest {
			b = binary.AppendUvarint(b, uint64(a.Band[q]))
			b = binary.AppendUvarint(b, uint64(len(list)))
			for _, n := range list {
				b = binary.AppendUvarint(b, n.Row)
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(n.Distance))
			}
		}
	}
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// decode is the reverse of encode.
func decode(data []byte) (t *Truth, done uint64, err error) {
	body := data[:max(len(data)-sha256.Size, 0)]
	if sum := sha256.Sum256(body); !bytes.HasPrefix(body, []byte(magic)) || !bytes.Equal(sum[:], data[len(body):]) {
		return nil, 0, errors.New("it is damaged, or none")
	}
	d := decoder{rest: body[len(magic):]}
	done = d.number()
	t = &Truth{Digest: string(d.bytes(d.count(1))), K: int(d.number()), Rows: d.number()}
	t.Answers = make([]Answer, d.count(2))
	for i := range t.Answers {
		a := &t.Answers[i]
		a.Filter = string(d.bytes(d.count(1)))
		a.Matches = int64(d.number())
		a.Nearest = make([][]Neighbour, d.count(2))
		a.Band = make([]int64, len(a.Nearest))
		for q := range a.Nearest {
			a.Band[q] = int64(d.number())
			a.Nearest[q] = make([]Neighbour, d.count(9))
			for k := range a.Nearest[q] {
				a.Nearest[q][k] = Neighbour{d.number(), d.float()}
			}
		}
	}
	if d.failed || len(d.rest) > 0 {
		return nil, 0, errors.New("its length is wrong")
	}
	return t, done, nil
}

// decoder reads numbers until one is missing.
type decoder struct {
	rest   []byte
	failed bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 {
		d.failed, d.rest = true, nil
		return 0
	}
	d.rest = d.rest[size:]
	return n
}

// count reads how many things follow of so many bytes each at least.
func (d *decoder) count(size int) int {
	n := d.number()
	if n > uint64(len(d.rest)/size) {
		d.failed, d.rest = true, nil
		return 0
	}
	return int(n)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.rest) {
		d.failed, d.rest = true, nil
		return nil
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) float() float64 {
	b := d.bytes(8)
	if b == nil {
		return 0
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b))
}

// Package datasettest writes files of vectors for tests, by the descriptions of their formats and without the code that reads them.
package datasettest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
)

// Number is what a component is written as.
type Number interface {
	float32 | float64 | uint8 | int8 | int32 | int64 | uint16
}

// Vecs writes records as the TEXMEX formats have them: the number of components in four bytes, then these.
func Vecs[T Number](records [][]T) []byte {
	var b bytes.Buffer
	for _, record := range records {
		put(&b, uint32(len(record)))
		put(&b, record)
	}
	return b.Bytes()
}

// NPY writes records as an array of NumPy's format version 1.0, 2.0 or 3.0 with elements of type descr.
func NPY[T Number](version byte, descr string, records [][]T) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", descr, len(records), len(records[0]))
	var b bytes.Buffer
	b.WriteString(NPYHead(version, header))
	for _, record := range records {
		put(&b, record)
	}
	return b.Bytes()
}

// NPYHead writes what stands before the elements: the header is filled up with blanks to a multiple of 64 bytes.
func NPYHead(version byte, header string) string {
	var b bytes.Buffer
	b.WriteString("\x93NUMPY")
	b.WriteByte(version)
	b.WriteByte(0)
	width := 4
	if version == 1 {
		width = 2
	}
	for (b.Len()+width+len(header)+1)%64 != 0 {
		header += " "
	}
	header += "\n"
	if version == 1 {
		put(&b, uint16(len(header)))
	} else {
		put(&b, uint32(len(header)))
	}
	return b.String() + header
}

// put writes what has a fixed size; a buffer takes all.
func put(b *bytes.Buffer, data any) {
	if err := binary.Write(b, binary.LittleEndian, data); err != nil {
		panic(err)
	}
}

// File writes a file of that name to a folder and returns its path.
func File(tb testing.TB, folder, name string, data []byte) string {
	tb.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		tb.Fatal(err)
	}
	return path
}

// Vectors returns so many vectors around a few centres, the same for the same seed. No two are the same.
func Vectors(seed, count, dim int) [][]float32 {
	all := make([][]float32, count)
	for i := range all {
		all[i] = make([]float32, dim)
		for j := range all[i] {
			centre := math.Sin(float64((i%13+1)*(j+3)) * 1.7)
			all[i][j] = float32(centre + 0.4*math.Sin(float64(seed*7919+i*dim+j+1)*12.9898))
		}
	}
	return all
}

// Distance is the square of the Euclidean distance, in the plainest way.
func Distance(a, b []float32) (sum float64) {
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return sum
}

// Truth returns per query the numbers of the k nearest vectors by the Euclidean distance, the nearest first.
func Truth(vectors, queries [][]float32, k int) [][]int32 {
	all := make([][]int32, len(queries))
	for q, query := range queries {
		taken := make([]bool, len(vectors))
		for range k {
			best := -1
			for i, v := range vectors {
				if !taken[i] && (best < 0 || Distance(v, query) < Distance(vectors[best], query)) {
					best = i
				}
			}
			taken[best] = true
			all[q] = append(all[q], int32(best))
		}
	}
	return all
}

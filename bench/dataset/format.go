package dataset

import (
	"encoding/binary"
	"fmt"
	"path/filepath"
	"strings"
)

// element is what the components of a file are. Numbers are little-endian.
type element int

const (
	float32s element = iota
	float64s
	float16s // IEEE 754, binary16
	uint8s
	int8s
	int32s
	int64s
)

// size returns the bytes of one.
func (e element) size() int {
	return [...]int{float32s: 4, float64s: 8, float16s: 2, uint8s: 1, int8s: 1, int32s: 4, int64s: 8}[e]
}

// whole tells whether they are numbers of vectors and no components.
func (e element) whole() bool { return e == int32s || e == int64s }

// shape is where things stand in a file: after head bytes, count records of stride bytes, each of which has prefix bytes and then dim components.
type shape struct {
	element              element
	head, prefix, stride int
	count, dim           int
}

// width returns the bytes of a record's components.
func (s shape) width() int { return s.dim * s.element.size() }

// maxDim bounds the components of a vector, as the corpus does.
const maxDim = 1 << 16

// formats are the forms of files by their extension. Each function finds the shape from the file's length and its head.
var formats = map[string]func(data []byte) (shape, error){
	".fvecs": vecs(float32s),
	".bvecs": vecs(uint8s),
	".ivecs": vecs(int32s),
	".npy":   npy,
}

const knownExtensions = ".fvecs, .bvecs, .ivecs and .npy"

// extension returns the end of a file's name by which its form is told, in lower case.
func extension(path string) string { return strings.ToLower(filepath.Ext(path)) }

// vecs returns the reader of the TEXMEX format for components of a kind: each record is the number of components in four bytes and then these.
// (http://corpus-texmex.irisa.fr, "vector files".)
func vecs(e element) func([]byte) (shape, error) {
	const prefix = 4
	return func(data []byte) (shape, error) {
		if len(data) < prefix {
			return shape{}, fmt.Errorf("it has %d bytes: a record begins with its number of components in %d", len(data), prefix)
		}
		dim := int32(binary.LittleEndian.Uint32(data))
		if dim < 1 || dim > maxDim {
			return shape{}, fmt.Errorf("its first record says that it has %d components: they are from 1 to %d", dim, maxDim)
		}
		s := shape{element: e, prefix: prefix, stride: prefix + int(dim)*e.size(), dim: int(dim)}
		if rest := len(data) % s.stride; rest != 0 {
			return shape{}, fmt.Errorf("its %d bytes are no whole number of records of %d components, %d bytes each: %d bytes are left over; it is cut off, or its records "+
				"differ in length", len(data), dim, s.stride, rest)
		}
		s.count = len(data) / s.stride
		return s, nil
	}
}

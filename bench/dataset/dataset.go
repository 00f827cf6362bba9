// Package dataset reads real vectors from files: those of the corpora in TEXMEX's formats (http://corpus-texmex.irisa.fr), fvecs, bvecs and ivecs, and
// NumPy's arrays, npy.
//
// A file is mapped into memory and not read into it: any vector alone, in any order, by any number of goroutines, without allocating. Open looks at
// its length and head alone. Check looks at every byte once and remembers what it found, so that it is done once per file and not once per process.
package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/x448/float16"
	"golang.org/x/sys/unix"
)

// File is an open file of vectors. It is safe for concurrent use. Its memory is given back when nobody holds it any more.
type File struct {
	path  string
	stamp stamp
	shape shape
	data  []byte // the whole file
}

// Open maps the file at path. What its length and head tell is checked: the error says the path and what was found. What is in it is for Check to look at.
func Open(path string) (*File, error) {
	f, err := open(path)
	if err != nil {
		return nil, fmt.Errorf("vectors in %s: %w", path, err)
	}
	return f, nil
}

func open(path string) (*File, error) {
	read, known := formats[extension(path)]
	if !known {
		return nil, fmt.Errorf("unknown extension %q: known are %s", extension(path), knownExtensions)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, reason(err)
	}
	defer file.Close() // the mapping stays
	stamp, err := stampOf(file)
	switch {
	case err != nil:
		return nil, err
	case !stamp.regular:
		return nil, errors.New("it is no regular file")
	case stamp.Size == 0:
		return nil, errors.New("the file is empty")
	case stamp.Size > math.MaxInt:
		return nil, fmt.Errorf("its %d bytes are more than this machine can map", stamp.Size)
	}
	data, err := unix.Mmap(int(file.Fd()), 0, int(stamp.Size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map it into memory: %w", err)
	}
	f := &File{path: path, stamp: stamp, data: data}
	runtime.AddCleanup(f, func(data []byte) { _ = unix.Munmap(data) }, data) // fails only for what is not mapped
	if f.shape, err = read(data); err != nil {
		return nil, err
	}
	return f, nil
}

// reason is an error of the system without the path, which stands before it.
func reason(err error) error {
	var path *os.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Path returns the path by which the file was opened.
func (f *File) Path() string { return f.path }

// Len returns the number of vectors.
func (f *File) Len() uint64 { return uint64(f.shape.count) }

// Dim returns the number of components of each.
func (f *File) Dim() int { return f.shape.dim }

// Whole tells whether the file holds whole numbers of 32 or 64 bits: numbers of vectors, and no components.
func (f *File) Whole() bool { return f.shape.element.whole() }

// record returns the bytes of vector i, without what stands before it.
func (f *File) record(i uint64) []byte {
	at := f.shape.head + int(i)*f.shape.stride + f.shape.prefix
	return f.data[at : at+f.shape.width()]
}

// Vector writes the components of vector i, which must be below Len, to dst, which has room for Dim of them. A number of double precision is
// rounded to the nearest of single precision; -0 becomes 0, as engines disagree on whether they keep it.
func (f *File) Vector(dst []float32, i uint64) {
	b, dst := f.record(i), dst[:f.shape.dim]
	switch f.shape.element {
	case float32s:
		b = b[:4*len(dst)]
		for j := range dst {
			dst[j] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*j:])) + 0
		}
	case uint8s:
		b = b[:len(dst)]
		for j, x := range b {
			dst[j] = float32(x)
		}
	case int8s:
		b = b[:len(dst)]
		for j, x := range b {
			dst[j] = float32(int8(x))
		}
	case float64s:
		for j := range dst {
			dst[j] = float32(math.Float64frombits(binary.LittleEndian.Uint64(b[8*j:]))) + 0
		}
	case float16s:
		for j := range dst {
			dst[j] = float16.Frombits(binary.LittleEndian.Uint16(b[2*j:])).Float32() + 0
		}
	default:
		panic("dataset: " + f.path + " holds no components but whole numbers")
	}
	runtime.KeepAlive(f) // the memory goes with it
}

// Numbers appends the whole numbers of record i to dst. For files that are Whole.
func (f *File) Numbers(dst []int64, i uint64) []int64 {
	b := f.record(i)
	size := f.shape.element.size()
	for j := range f.shape.dim {
		switch f.shape.element {
		case int32s:
			dst = append(dst, int64(int32(binary.LittleEndian.Uint32(b[size*j:]))))
		case int64s:
			dst = append(dst, int64(binary.LittleEndian.Uint64(b[size*j:])))
		default:
			panic("dataset: " + f.path + " holds components and no whole numbers")
		}
	}
	runtime.KeepAlive(f)
	return dst
}

// Unchanged returns an error when the file is not the one any more that was opened: it was written to, replaced or removed.
func (f *File) Unchanged() error {
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("vectors in %s: the file cannot be read any more: %w", f.path, reason(err))
	}
	defer file.Close()
	now, err := stampOf(file)
	if err != nil {
		return fmt.Errorf("vectors in %s: %w", f.path, err)
	}
	if now != f.stamp {
		return fmt.Errorf("vectors in %s: the file has changed while it was in use", f.path)
	}
	return nil
}

// Warm reads one byte of every page.
func (f *File) Warm() {
	sum := byte(0)
	for at := 0; at < len(f.data); at += os.Getpagesize() {
		sum ^= f.data[at]
	}
	warmed.Store(uint32(sum)) // so that the reads are not left out
	runtime.KeepAlive(f)
}

var warmed atomic.Uint32

// Part is the vectors from From, Count of them, of a file.
type Part struct {
	File        *File
	From, Count uint64
}

// Len returns the number of vectors.
func (p Part) Len() uint64 { return p.Count }

// Dim returns the number of components of each.
func (p Part) Dim() int { return p.File.Dim() }

// Vector is File.Vector of the part's vector i.
func (p Part) Vector(dst []float32, i uint64) { p.File.Vector(dst, p.From+i) }

package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/x448/float16"
	"pgregory.net/rapid"

	"github.com/durabench/durabench/bench/dataset/datasettest"
)

// records draws records of one length.
func records[T datasettest.Number](t *rapid.T, number *rapid.Generator[T]) [][]T {
	dim, count := rapid.IntRange(1, 40).Draw(t, "dim"), rapid.IntRange(1, 30).Draw(t, "count")
	return rapid.SliceOfN(rapid.SliceOfN(number, dim, dim), count, count).Draw(t, "records")
}

// floats turns records into what single precision makes of them.
func floats[T datasettest.Number](records [][]T, as func(T) float32) [][]float32 {
	all := make([][]float32, len(records))
	for i, record := range records {
		for _, x := range record {
			all[i] = append(all[i], as(x)+0)
		}
	}
	return all
}

// holds fails unless the file has exactly these vectors.
func holds(t *rapid.T, folder, name string, data []byte, want [][]float32) {
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	facts, err := Check(path, "")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	if wanted := (Facts{SHA256: hex.EncodeToString(sum[:]), Vectors: uint64(len(want)), Dimensions: len(want[0])}); facts != wanted {
		t.Fatalf("%+v, want %+v", facts, wanted)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, f.Dim())
	for _, i := range rapid.Permutation(indexes(len(want))).Draw(t, "order") {
		f.Vector(got, uint64(i))
		for j, x := range want[i] {
			if math.Float32bits(got[j]) != math.Float32bits(x) {
				t.Fatalf("component %d of vector %d is %v, want %v", j, i, got[j], x)
			}
		}
	}
}

func indexes(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

func TestFilesHoldWhatWasWritten(t *testing.T) {
	folder := t.TempDir()
	single := rapid.Float32Range(-math.MaxFloat32, math.MaxFloat32)
	double := rapid.Float64Range(-math.MaxFloat32, math.MaxFloat32)
	half := rapid.Custom(func(t *rapid.T) uint16 {
		bits := rapid.Uint16().Filter(func(b uint16) bool { return b>>10&31 != 31 }).Draw(t, "half")
		return bits
	})
	same := func(x float32) float32 { return x }
	for name, check := range map[string]func(t *rapid.T){
		"fvecs": func(t *rapid.T) {
			r := records(t, single)
			holds(t, folder, "x.fvecs", datasettest.Vecs(r), floats(r, same))
		},
		"bvecs": func(t *rapid.T) {
			r := records(t, rapid.Uint8())
			holds(t, folder, "x.BVECS", datasettest.Vecs(r), floats(r, func(x uint8) float32 { return float32(x) }))
		},
		"npy single": func(t *rapid.T) {
			r := records(t, single)
			holds(t, folder, "x.npy", datasettest.NPY(byte(rapid.IntRange(1, 3).Draw(t, "version")), "<f4", r), floats(r, same))
		},
		"npy double": func(t *rapid.T) {
			r := records(t, double)
			holds(t, folder, "d.npy", datasettest.NPY(1, "<f8", r), floats(r, func(x float64) float32 { return float32(x) }))
		},
		"npy half": func(t *rapid.T) {
			r := records(t, half)
			holds(t, folder, "h.npy", datasettest.NPY(2, "<f2", r), floats(r, func(x uint16) float32 { return float16.Frombits(x).Float32() }))
		},
		"npy bytes": func(t *rapid.T) {
			r := records(t, rapid.Uint8())
			holds(t, folder, "u.npy", datasettest.NPY(1, "|u1", r), floats(r, func(x uint8) float32 { return float32(x) }))
		},
		"npy signed bytes": func(t *rapid.T) {
			r := records(t, rapid.Int8())
			holds(t, folder, "i.npy", datasettest.NPY(3, "|i1", r), floats(r, func(x int8) float32 { return float32(x) }))
		},
	} {
		t.Run(name, func(t *testing.T) { rapid.Check(t, check) })
	}
}

// neighbours fails unless the file has exactly these whole numbers.
func neighbours[T int32 | int64](t *rapid.T, path string, data []byte, want [][]T) {
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	facts, err := Check(path, "")
	if err != nil || !facts.Whole {
		t.Fatalf("%+v, %v", facts, err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	least, most := int64(math.MaxInt64), int64(math.MinInt64)
	var got []int64
	for i, record := range want {
		got = f.Numbers(got[:0], uint64(i))
		for j, x := range record {
			least, most = min(least, int64(x)), max(most, int64(x))
			if got[j] != int64(x) {
				t.Fatalf("number %d of record %d is %d, want %d", j, i, got[j], x)
			}
		}
	}
	if len(got) != f.Dim() || int(f.Len()) != len(want) || facts.Least != least || facts.Most != most {
		t.Fatalf("%d records of %d, from %d to %d; want %d, from %d to %d", f.Len(), f.Dim(), facts.Least, facts.Most, len(want), least, most)
	}
}

func TestNeighboursAreThoseThatWereWritten(t *testing.T) {
	folder := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		small, large := records(t, rapid.Int32()), records(t, rapid.Int64())
		neighbours(t, filepath.Join(folder, "x.ivecs"), datasettest.Vecs(small), small)
		neighbours(t, filepath.Join(folder, "i4.npy"), datasettest.NPY(1, "<i4", small), small)
		neighbours(t, filepath.Join(folder, "i8.npy"), datasettest.NPY(1, "<i8", large), large)
	})
}

// The files in testdata were written by NumPy 2 with numpy.save, of (arange(15).reshape(5, 3) - 7) * [1, 0.5, -2].
func TestFilesOfNumPy(t *testing.T) {
	for name, want := range map[string][]float32{
		"float64": {-7, -3, 10}, "float32": {-7, -3, 10}, "float16": {-7, -3, 10}, "int8": {-7, -3, 10}, "uint8": {0, 17, 34},
		"version2": {-7, -3, 10}, "version3": {-7, -3, 10},
	} {
		f, err := Open(filepath.Join("testdata", name+".npy"))
		if err != nil {
			t.Error(err)
			continue
		}
		got := make([]float32, 3)
		f.Vector(got, 0)
		if fmt.Sprint(got) != fmt.Sprint(want) || f.Len() != 5 {
			t.Errorf("%s: %d vectors, the first is %v, want %v", name, f.Len(), got, want)
		}
	}
	for _, name := range []string{"int64", "int32"} {
		f, err := Open(filepath.Join("testdata", name+".npy"))
		if err != nil {
			t.Error(err)
		} else if got := fmt.Sprint(f.Numbers(nil, 4)); got != "[12 13 14]" {
			t.Errorf("%s: the last numbers are %s", name, got)
		}
	}
	for name, want := range map[string]string{
		"fortran": "Fortran order", "bigendian": `of type ">f4"`, "flat": "wanted are two dimensions", "complex": `of type "<c8"`,
	} {
		if _, err := Open(filepath.Join("testdata", name+".npy")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
}

func TestWhatIsWrongWithAFileIsSaid(t *testing.T) {
	folder := t.TempDir()
	good := datasettest.Vecs(datasettest.Vectors(1, 4, 3))
	odd := datasettest.Vecs([][]float32{{1, 2}, {3, 4}, {5, 6}})
	odd[12] = 3 // as long as it should be, but it says otherwise
	npy := string(datasettest.NPY(1, "<f4", datasettest.Vectors(1, 4, 3)))
	head := func(header string) string { return datasettest.NPYHead(1, header) + strings.Repeat("\x00", 48) }
	for _, test := range []struct{ name, content, want string }{
		{"empty.fvecs", "", "the file is empty"},
		{"empty.npy", "", "the file is empty"},
		{"x.hdf5", "x", `unknown extension ".hdf5": known are .fvecs, .bvecs, .ivecs and .npy`},
		{"none", "x", `unknown extension ""`},
		{"short.fvecs", "\x01\x00", "it has 2 bytes"},
		{"none.fvecs", "\x00\x00\x00\x00", "says that it has 0 components"},
		{"minus.fvecs", "\xff\xff\xff\xff", "says that it has -1 components"},
		{"many.bvecs", "\x01\x00\x01\x00", "says that it has 65537 components"},
		{"cut.fvecs", string(good[:len(good)-1]), "its 63 bytes are no whole number of records of 3 components, 16 bytes each: 15 bytes are left over"},
		{"cut.bvecs", "\x02\x00\x00\x00ab\x02\x00\x00\x00a", "5 bytes are left over"},
		{"odd.fvecs", string(odd), "record 1 says that it has 3 components, the first has 2"},
		{"nan.fvecs", string(datasettest.Vecs([][]float32{{1, 2}, {3, float32(math.NaN())}})), "component 1 of vector 1 is NaN"},
		{"inf.fvecs", string(datasettest.Vecs([][]float32{{float32(math.Inf(-1)), 2}})), "component 0 of vector 0 is -Inf"},
		{"nan.npy", string(datasettest.NPY(1, "<f8", [][]float64{{1, math.NaN()}})), "component 1 of vector 0 is NaN"},
		{"large.npy", string(datasettest.NPY(1, "<f8", [][]float64{{1e39, 1}})), "or does not fit in single precision"},
		{"half.npy", string(datasettest.NPY(1, "<f2", [][]uint16{{0x3c00, 0x7c00}})), "component 1 of vector 0 is +Inf"},
		{"other.npy", "\x93NUMPI\x01\x00\x10\x00{}", "does not begin as NumPy's arrays do"},
		{"version.npy", "\x93NUMPY\x04\x00\x10\x00\x00\x00{}", "it is of version 4"},
		{"header.npy", npy[:40], "it is cut off"},
		{"cut.npy", npy[:len(npy)-1], "elements of 4 bytes each"},
		{"long.npy", npy + "x", "elements of 4 bytes each"},
		{"three.npy", head("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2, 3), }"), "its shape is (2, 2, 3)"},
		{"zero.npy", head("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 3), }"), "there are no vectors"},
		{"wide.npy", head("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 70000), }"), "70000 components"},
		{"huge.npy", head("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }"), "elements of 4 bytes each"},
		{"words.npy", head("{'descr': '<f4', 'fortran_order': False, 'shape': (a, b), }"), "two whole numbers"},
		{"fields.npy", head("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (4, 3), }"), "no single type"},
		{"dict.npy", head("'descr': '<f4'"), "does not say the fortran_order and shape"},
	} {
		path := datasettest.File(t, folder, test.name, []byte(test.content))
		_, err := Check(path, "")
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "vectors in "+path+": ") {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := Check(filepath.Join(folder, "absent.fvecs"), ""); err == nil || !strings.HasSuffix(err.Error(), "no such file or directory") {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := os.Mkdir(filepath.Join(folder, "folder.fvecs"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(filepath.Join(folder, "folder.fvecs"), ""); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
}

func TestManyReadAtOnceAndNothingIsAllocated(t *testing.T) {
	want := datasettest.Vectors(1, 500, 16)
	f, err := Open(datasettest.File(t, t.TempDir(), "x.fvecs", datasettest.Vecs(want)))
	if err != nil {
		t.Fatal(err)
	}
	var wait sync.WaitGroup
	for part := range 8 {
		wait.Go(func() {
			got := make([]float32, 16)
			for i := range want {
				at := (i*(2*part+1) + part) % len(want)
				if f.Vector(got, uint64(at)); got[5] != want[at][5] || got[15] != want[at][15] {
					t.Errorf("vector %d is %v, want %v", at, got, want[at])
					return
				}
			}
		})
	}
	wait.Wait()
	got := make([]float32, 16)
	if n := testing.AllocsPerRun(100, func() { f.Vector(got, 499) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	tail := Part{File: f, From: 490, Count: 10}
	if tail.Vector(got, 9); got[0] != want[499][0] || tail.Len() != 10 || tail.Dim() != 16 {
		t.Errorf("the last of the tail is %v, want %v", got, want[499])
	}
}

func TestChangeOfAFileIsSeen(t *testing.T) {
	path := datasettest.File(t, t.TempDir(), "x.fvecs", datasettest.Vecs(datasettest.Vectors(1, 5, 4)))
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Unchanged(); err != nil {
		t.Error(err)
	}
	if err := os.Rename(datasettest.File(t, filepath.Dir(path), "y.fvecs", datasettest.Vecs(datasettest.Vectors(2, 5, 4))), path); err != nil {
		t.Fatal(err)
	}
	if err := f.Unchanged(); err == nil || !strings.Contains(err.Error(), "has changed while it was in use") {
		t.Errorf("another file of its name: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := f.Unchanged(); err == nil || !strings.Contains(err.Error(), "cannot be read any more") {
		t.Errorf("no file of its name: %v", err)
	}
}

// What was found is told from the cache, until the file is another.
func TestWhatWasFoundIsRemembered(t *testing.T) {
	folder, cache := t.TempDir(), filepath.Join(t.TempDir(), "notes")
	path := datasettest.File(t, folder, "x.fvecs", datasettest.Vecs(datasettest.Vectors(1, 5, 4)))
	first, err := Check(path, cache)
	if err != nil {
		t.Fatal(err)
	}
	if kept, _ := filepath.Glob(filepath.Join(cache, "*")); len(kept) > 0 {
		t.Errorf("a file that was just written may be written again without a new time, and yet it was remembered: %v", kept)
	}
	old := settled
	settled = -time.Hour // files of now are kept
	t.Cleanup(func() { settled = old })
	if _, err := Check(path, cache); err != nil {
		t.Fatal(err)
	}
	kept, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(kept) != 1 {
		t.Fatalf("kept %v, %v", kept, err)
	}
	text, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Repeat("0", 64) // so that it shows where an answer comes from
	if err := os.WriteFile(kept[0], []byte(strings.Replace(string(text), first.SHA256, other, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := Check(path, cache); err != nil || again.SHA256 != other {
		t.Errorf("%+v, %v: not from the cache", again, err)
	}
	// Of the same size, and with the time that it had.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	datasettest.File(t, folder, "x.fvecs", datasettest.Vecs(datasettest.Vectors(2, 5, 4)))
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	changed, err := Check(path, cache)
	if err != nil || changed.SHA256 == other || changed.SHA256 == first.SHA256 {
		t.Errorf("another content has %s, %v", changed.SHA256, err)
	}
	if err := os.WriteFile(kept[0], []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := Check(path, cache); err != nil || again != changed {
		t.Errorf("a damaged note: %+v, %v", again, err)
	}
	if _, err := Check(path, datasettest.File(t, folder, "file", nil)); err == nil || !strings.Contains(err.Error(), "remember what is in it") {
		t.Errorf("a cache that cannot be written to: %v", err)
	}
}

func FuzzNPY(f *testing.F) {
	f.Add(datasettest.NPY(1, "<f4", datasettest.Vectors(1, 2, 3)))
	f.Add([]byte(datasettest.NPYHead(2, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 1), }")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := npy(data)
		if err == nil && (s.count < 1 || s.dim < 1 || s.head+s.count*s.stride != len(data)) {
			t.Fatalf("%+v of %d bytes", s, len(data))
		}
	})
}

func BenchmarkVector128(b *testing.B) {
	for name, data := range map[string][]byte{
		"x.fvecs": datasettest.Vecs(datasettest.Vectors(1, 1000, 128)),
		"x.bvecs": datasettest.Vecs(floatsToBytes(datasettest.Vectors(1, 1000, 128))),
	} {
		f, err := Open(datasettest.File(b, b.TempDir(), name, data))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			dst, i := make([]float32, 128), uint64(0)
			for b.Loop() {
				f.Vector(dst, i%1000)
				i++
			}
		})
	}
}

func floatsToBytes(vectors [][]float32) [][]uint8 {
	all := make([][]uint8, len(vectors))
	for i, v := range vectors {
		for _, x := range v {
			all[i] = append(all[i], uint8(int(x*50)+128))
		}
	}
	return all
}

package corpus

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// numbered are so many vectors of three components; the first is the vector's number.
type numbered struct {
	n   uint64
	dim int
}

func (v numbered) Len() uint64 { return v.n }
func (v numbered) Dim() int    { return v.dim }
func (v numbered) Vector(dst []float32, i uint64) {
	if i >= v.n {
		panic(fmt.Sprintf("vector %d of %d", i, v.n))
	}
	dst[0], dst[1], dst[2] = float32(i), 1, 2
}

const dataDigest = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9"

// ofData is a corpus with a column of a data set of so many vectors, of which a benchmark has so many rows.
func ofData(t testing.TB, vectors, rows uint64) *Corpus {
	t.Helper()
	c, err := NewOfData(7, mustTemplate(t, map[string]any{"v": "vector:3:data:sift", "n": "int"}), KeyInteger, false, map[string]Data{
		"sift": {Digest: dataDigest, Vectors: numbered{vectors, 3}, Queries: numbered{5, 3}, Rows: rows},
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// vectorOf returns the number of the vector that a row has.
func vectorOf(c *Corpus, r *Row, index uint64, version uint32) uint64 {
	c.Row(r, index, version)
	return uint64(r.Columns[1].Floats()[0])
}

// At every version the rows have the same vectors, each one of its own, and another than at the version before.
func TestRowsShareTheFirstVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vectors := rapid.Uint64Range(2, 300).Draw(t, "vectors")
		rows := rapid.Uint64Range(1, vectors).Draw(t, "rows")
		version := rapid.Uint32Max(MaxVersions-2).Draw(t, "version")
		c, err := NewOfData(7, mustParse(t, map[string]any{"v": "vector:3:data:sift", "n": "int"}), KeyInteger, false, map[string]Data{
			"sift": {Digest: dataDigest, Vectors: numbered{vectors, 3}, Rows: rows},
		})
		if err != nil {
			t.Fatal(err)
		}
		field := &c.Template().Columns()[1]
		var r Row
		taken := map[uint64]bool{}
		for i := range rows {
			if first := vectorOf(c, &r, i, 0); first != i {
				t.Fatalf("row %d has vector %d at version 0", i, first)
			}
			now := vectorOf(c, &r, i, version)
			if taken[now] || rows > 1 && now >= rows {
				t.Fatalf("row %d has vector %d at version %d, of %d rows; another has it, too: %t", i, now, version, rows, taken[now])
			}
			taken[now] = true
			if next := vectorOf(c, &r, i, version+1); next == now {
				t.Fatalf("row %d has vector %d at the versions %d and %d", i, now, version, version+1)
			}
			if row, ok := c.DataRow(field, now, version); rows > 1 && (!ok || row != i) {
				t.Fatalf("vector %d is in row %d, %t at version %d; it is in row %d", now, row, ok, version, i)
			}
		}
		if rows > 1 {
			if row, ok := c.DataRow(field, rows, version); ok {
				t.Fatalf("vector %d of %d rows is in row %d", rows, rows, row)
			}
		}
		beyond := rapid.Uint64Range(rows, 4*vectors).Draw(t, "beyond")
		if got := vectorOf(c, &r, beyond, 0); got != beyond%vectors {
			t.Fatalf("row %d has vector %d of %d", beyond, got, vectors)
		}
	})
}

func mustParse(t *rapid.T, table map[string]any) *Template {
	tpl, err := ParseTemplate(table)
	if err != nil {
		t.Fatal(err)
	}
	return tpl
}

// Whoever changes what row has which vector changes what results mean: raise Algorithm then.
func TestGoldenDataRows(t *testing.T) {
	c := ofData(t, 1000, 100)
	var r Row
	for _, test := range []struct {
		index   uint64
		version uint32
		vector  uint64
	}{{0, 0, 0}, {99, 0, 99}, {0, 1, 61}, {99, 1, 60}, {7, MaxVersions - 1, 34}, {100, 0, 100}, {100, 1, 719}, {1100, 0, 100}} {
		if got := vectorOf(c, &r, test.index, test.version); got != test.vector {
			t.Errorf("row %d has vector %d at version %d, want %d", test.index, got, test.version, test.vector)
		}
	}
	const want = "035afebf3454f10fc96065046f3f66f2e7f1ca9e29df1da8429ed31b5833dc5d"
	if got := c.Digest(); got != want {
		t.Errorf("digest %s, want %s", got, want)
	}
	c.Row(&r, 3, 2)
	if got := r.Checksum(); got != 0xda234b612a321774 {
		t.Errorf("checksum %#x, want 0xda234b612a321774", got)
	}
}

func TestDataCountsByItsContent(t *testing.T) {
	digest := func(name, content string, vectors, rows uint64) string {
		c, err := NewOfData(7, mustTemplate(t, map[string]any{"v": "vector:3:data:" + name, "n": "int"}), KeyInteger, false, map[string]Data{
			name: {Digest: content, Vectors: numbered{vectors, 3}, Rows: rows},
		})
		if err != nil {
			t.Fatal(err)
		}
		return c.Digest()
	}
	base := digest("sift", "a", 100, 50)
	if other := digest("other", "a", 100, 50); other != base {
		t.Error("the name decides")
	}
	seen := map[string]string{base: "the base"}
	for what, other := range map[string]string{
		"content": digest("sift", "b", 100, 50), "number of vectors": digest("sift", "a", 99, 50), "number of rows": digest("sift", "a", 100, 49),
	} {
		if same, dup := seen[other]; dup {
			t.Errorf("another %s has the digest of %s", what, same)
		}
		seen[other] = what
	}
	// The canonical form is that of the words: it does not know the content.
	if text := ofData(t, 10, 5).Template().Canonical(); text != `{"n":"int:-2147483648..2147483647","v":"vector:3:data:sift"}` {
		t.Errorf("the canonical form is %s", text)
	}
}

func TestDataRowsArePureForAllAtOnce(t *testing.T) {
	c := ofData(t, 1000, 700)
	var want [1400]uint64
	var r Row
	for i := range want {
		c.Row(&r, uint64(i), uint32(i%3))
		want[i] = r.Checksum()
	}
	var wait sync.WaitGroup
	for w := range 8 {
		wait.Go(func() {
			var r Row
			for step := range want {
				i := (step*37 + w*11) % len(want)
				if c.Row(&r, uint64(i), uint32(i%3)); r.Checksum() != want[i] {
					t.Errorf("row %d is another for worker %d", i, w)
					return
				}
			}
		})
	}
	wait.Wait()
	mask := c.Template().Mask([]int{1})
	if n := testing.AllocsPerRun(100, func() { c.Columns(&r, 5, 1, mask) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if got := r.Columns[1].Floats(); len(got) != 3 || got[0] != float32(vectorOf(c, &r, 5, 1)) {
		t.Errorf("alone the column has %v", got)
	}
}

func TestQueriesOfData(t *testing.T) {
	c := ofData(t, 1000, 700)
	held, err := c.Holdout(&c.Template().Columns()[1], 99)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]float32, 3)
	if held.Vector(got, 4); held.Len() != 5 || !slices.Equal(got, []float32{4, 1, 2}) {
		t.Errorf("the last of %d is %v", held.Len(), got)
	}
	none, err := NewOfData(7, c.Template(), KeyInteger, false, map[string]Data{"sift": {Digest: "a", Vectors: numbered{9, 3}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Holdout(&c.Template().Columns()[1], 99); err == nil || !strings.Contains(err.Error(), "the data set sift has no query vectors") {
		t.Errorf("no query vectors: %v", err)
	}
}

func TestDataThatDoesNotFitIsRefused(t *testing.T) {
	tpl := mustTemplate(t, map[string]any{"v": "vector:3:data:sift"})
	if _, err := New(1, tpl, KeyInteger, false); err == nil || !strings.Contains(err.Error(), "the data set sift, which is not given") {
		t.Errorf("no data: %v", err)
	}
	for want, data := range map[string]Data{
		"nothing names its content":                            {Vectors: numbered{9, 3}},
		"its vectors have 4 components, the column's 3":        {Digest: "a", Vectors: numbered{9, 4}},
		"its query vectors have 2 components, the column's 3":  {Digest: "a", Vectors: numbered{9, 3}, Queries: numbered{9, 2}},
		"it has 1 vectors, wanted are from 2":                  {Digest: "a", Vectors: numbered{1, 3}},
		"10 rows are more than its 9 vectors":                  {Digest: "a", Vectors: numbered{9, 3}, Rows: 10},
		"it has 1099511627777 vectors, wanted are from 2, so ": {Digest: "a", Vectors: numbered{MaxRows + 1, 3}},
	} {
		if _, err := NewOfData(1, tpl, KeyInteger, false, map[string]Data{"sift": data}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	for _, expr := range []string{"vector:3:data", "vector:3:data:", "vector:3:data:a:b", "vector:3:data:a b", "vector:3:data:é"} {
		if _, err := ParseTemplate(map[string]any{"v": expr}); err == nil || !strings.Contains(err.Error(), "data takes the name of a data set") {
			t.Errorf("%s: %v", expr, err)
		}
	}
	field := mustTemplate(t, map[string]any{"v": "Vector: 3 : Data : Sift-1m "}).Columns()[0]
	if field.DataSet() != "sift-1m" || field.Dim != 3 || field.Kind != Vector {
		t.Errorf("%+v", field)
	}
}

// The largest numbers do not overflow.
func TestStepsOfLargeData(t *testing.T) {
	for _, n := range []uint64{2, 3, 4, 1 << 20, 1_000_000_000, MaxRows - 1, MaxRows} {
		r := newRing(n)
		if gcd(r.step, n) != 1 || r.step < 1 {
			t.Errorf("%d vectors: a step of %d", n, r.step)
		}
		for _, version := range []uint32{0, 1, 2, MaxVersions - 1} {
			for _, i := range []uint64{0, 1, n / 2, n - 1} {
				at := r.at(i, version)
				if back := r.back(at, version); at >= n || back != i {
					t.Errorf("%d of %d at version %d: %d, and back %d", i, n, version, at, back)
				}
				// As it is added up, version by version, for the last ones only by what comes next.
				if next := r.at(i, version+1); version < MaxVersions-1 && next != (at+r.step)%n {
					t.Errorf("%d of %d: %d at version %d and %d at the next", i, n, at, version, next)
				}
			}
		}
	}
}

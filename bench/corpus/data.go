package corpus

import (
	"fmt"
	"math/bits"
	"strings"
)

// Vectors are vectors in an order, such as those of a file. They never change, and are safe for concurrent use.
type Vectors interface {
	Len() uint64
	Dim() int // components of each
	// Vector writes the components of vector i, which is below Len, to dst, which has room for Dim of them.
	Vector(dst []float32, i uint64)
}

// Data are vectors that come from outside and not from the seed. Row i has vector i at version 0. The rows of the benchmark share the first Rows vectors at every
// version, each having one of its own: row i has at version v the vector number
//
//	(i + v·s(Rows)) mod Rows
//
// where s(n) is n divided by the golden ratio, rounded down, or the next number above that has no divisor in common with n. So an update gives a row the vector of
// another one far away in the file, and when all rows have been updated they hold the same vectors as before. Rows beyond, which mixes add, and the row of
// a benchmark of one row do the same with all vectors in place of the first Rows: they begin again with the first vector when there are no more.
type Data struct {
	// Digest names the content of Vectors: same digest, same vectors.
	Digest  string
	Vectors Vectors // 2 at least
	Queries Vectors // what searches ask for; nil when there is nothing
	Rows    uint64  // of the benchmark, at most as many as there are vectors
}

// IsDataName tells whether expressions can name a data set so: by lower-case letters, digits, _ and -.
func IsDataName(name string) bool {
	return name != "" && len(name) <= maxColumnName && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

// DataSet returns the name of the data set that a field has its vectors of, "" when it has none.
func (f *Field) DataSet() string {
	if g, ok := f.gen.(*dataGen); ok {
		return g.name
	}
	return ""
}

// dataGen takes vectors from a data set.
type dataGen struct {
	dim  int
	name string
	slot int // in Corpus.data
}

// expr is the generator's expression with the data set called so.
func (g *dataGen) expr(name string) string { return fmt.Sprintf("vector:%d:data:%s", g.dim, name) }

func (g *dataGen) fill(c *Corpus, r *Row, v *Value, _ uint64) {
	out, data := r.floats.take(g.dim), c.data[g.slot]
	data.Vectors.Vector(out, data.at(r.Index, r.Version))
	v.kind, v.floats = Vector, out
}

// dealt is a data set with how its vectors are dealt to rows.
type dealt struct {
	Data
	rows, all ring
}

// deal finds the generator's data set and makes sure that it fits.
func (g *dataGen) deal(data map[string]Data) (*dealt, error) {
	d, there := data[g.name]
	if !there {
		return nil, fmt.Errorf("the template has vectors of the data set %s, which is not given", g.name)
	}
	switch n := d.Vectors.Len(); {
	case d.Digest == "":
		return nil, fmt.Errorf("data set %s: nothing names its content", g.name)
	case d.Vectors.Dim() != g.dim:
		return nil, fmt.Errorf("data set %s: its vectors have %d components, the column's %d", g.name, d.Vectors.Dim(), g.dim)
	case d.Queries != nil && d.Queries.Dim() != g.dim:
		return nil, fmt.Errorf("data set %s: its query vectors have %d components, the column's %d", g.name, d.Queries.Dim(), g.dim)
	case n < 2 || n > MaxRows:
		return nil, fmt.Errorf("data set %s: it has %d vectors, wanted are from 2, so that an update changes a row's, to %d", g.name, n, uint64(MaxRows))
	case d.Rows > n:
		return nil, fmt.Errorf("data set %s: %d rows are more than its %d vectors", g.name, d.Rows, n)
	}
	dealt := &dealt{Data: d, all: newRing(d.Vectors.Len())}
	if d.Rows > 1 {
		dealt.rows = newRing(d.Rows)
	}
	return dealt, nil
}

// at returns which vector a row has.
func (d *dealt) at(index uint64, version uint32) uint64 {
	if index < d.rows.n {
		return d.rows.at(index, version)
	}
	return d.all.at(index, version)
}

// ring is so many vectors and how far a version goes on among them.
type ring struct{ n, step uint64 }

func newRing(n uint64) ring {
	step, _ := bits.Mul64(n, golden) // golden is 2⁶⁴ ÷ the golden ratio
	for step = max(step, 1); gcd(step, n) != 1; step++ {
	}
	return ring{n, step}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// at goes on from the index as far as the version says. Versions beyond MaxVersions, which are of no valid row, begin again.
func (r ring) at(index uint64, version uint32) uint64 {
	return (index%r.n + uint64(version%MaxVersions)*r.step) % r.n
}

// back is the reverse of at for indexes below n.
func (r ring) back(vector uint64, version uint32) uint64 {
	return (vector + r.n - uint64(version%MaxVersions)*r.step%r.n) % r.n
}

// DataRow returns which of the benchmark's rows has vector number i of the field's data set at a version; ok is false when none has.
func (c *Corpus) DataRow(f *Field, i uint64, version uint32) (row uint64, ok bool) {
	g, isData := f.gen.(*dataGen)
	if !isData {
		return 0, false
	}
	rows := c.data[g.slot].rows
	if i >= rows.n {
		return 0, false
	}
	return rows.back(i, version), true
}

// content is the template's canonical form with data sets named by what is in them and how it is dealt.
func (c *Corpus) content() string {
	if len(c.data) == 0 {
		return c.template.canonical
	}
	var b strings.Builder
	columns := c.template.columns[:len(c.template.columns)-1] // without the seal
	(&Field{Kind: Object, Elems: columns}).writeCanonical(&b, func(f *Field) string {
		g, isData := f.gen.(*dataGen)
		if !isData {
			return f.expr
		}
		d := c.data[g.slot]
		return g.expr(fmt.Sprintf("%s:%d:%d", d.Digest, d.Rows, d.Vectors.Len()))
	})
	return b.String()
}

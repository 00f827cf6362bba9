// Package tile computes float32 scores of many vectors against many others, a small rectangle of them at a time in the processor's registers, as a matrix
// multiplication does it: by AVX-512, by AVX2 and FMA, or in plain Go, whatever the machine has. The sums are rounded, and differently by each of the
// kernels; ErrorBound says by how much at most.
package tile

import "fmt"

//go:generate go run -C gen . -out ../tile_amd64.s -stubs ../stubs_amd64.go -pkg tile

// Op is what a score is: the larger, the nearer.
type Op int

// The operations.
const (
	Product    Op = iota // the inner product
	Difference           // the sum of the absolute differences, negated
)

// Kernel is one way to compute tiles.
type Kernel struct {
	Name string
	// ops are the tiles, by Op.
	ops [2]shape
	// choose is Panels.Choose for rows rows: bit j of masks[i] is set unless scores[i][j] + slack[i]·scale[j] − bias[i] < limit[j].
	choose func(masks []uint32, scores, slack, bias, scale, limit []float32)
}

// shape is a tile of rows × cols scores.
type shape struct {
	rows, cols int
	// run computes the tile of the rows at the stride against a panel, whose k-th cols components stand together, over k components, a multiple of
	// unroll. It adds to the scores when add is set. The scores stand row by row, cols to a row.
	run func(k int, rows []float32, stride int, panel, scores []float32, add bool)
}

// unroll is what the number of components is rounded up to, with zeros.
const unroll = 4

// panelBytes is how much of a panel is worked on at a time: it stays in the processor's first cache.
const panelBytes = 16 << 10

// ErrorBound returns how far from the exact inner product a computed one of so many components is at most, relative to the product of the vectors'
// lengths (1e-30 or more), and a sum of absolute differences relative to itself. It is the usual bound of n roundings in any order, n·u ÷ (1 − n·u) with
// u = 2⁻²⁴ (Higham, Accuracy and Stability of Numerical Algorithms, 3.1), with 16 roundings to spare for one who goes on to compute with it.
func ErrorBound(dim int) float64 {
	nu := float64(dim+16) * 0x1p-24
	if nu > 0.25 {
		nu = 0.25 // nobody should rely on such sums; see Reliable
	}
	return nu / (1 - nu)
}

// Reliable tells whether ErrorBound holds for sums of so many components.
func Reliable(dim int) bool { return dim < 1<<21 }

// Kernels returns the kernels that this machine can run, the fastest first and plain Go last.
func Kernels() []*Kernel { return append(machineKernels(), portable) }

// Named returns the kernel of the name.
func Named(name string) (*Kernel, error) {
	for _, k := range Kernels() {
		if k.Name == name {
			return k, nil
		}
	}
	return nil, fmt.Errorf("this machine cannot run the kernel %q", name)
}

// Panels are vectors packed for a kernel, in panels of Cols of them, the last filled up with zeros. They are immutable.
type Panels struct {
	Cols  int // vectors in a panel, 32 at most
	Count int // panels

	kernel *Kernel
	shape  shape
	dim    int // rounded up
	chunk  int // components worked on at a time
	data   []float32
}

// Pack packs vectors of the same dimension.
func (k *Kernel) Pack(op Op, vectors [][]float32) *Panels {
	s := k.ops[op]
	p := &Panels{Cols: s.cols, Count: (len(vectors) + s.cols - 1) / s.cols, kernel: k, shape: s, dim: roundUp(len(vectors[0]), unroll)}
	p.chunk = max(panelBytes/4/s.cols/unroll*unroll, unroll)
	if chunks := (p.dim + p.chunk - 1) / p.chunk; chunks > 0 {
		p.chunk = roundUp((p.dim+chunks-1)/chunks, unroll) // chunks of about the same size
	}
	p.data = make([]float32, p.Count*p.dim*s.cols)
	for i, v := range vectors {
		panel := p.data[i/s.cols*p.dim*s.cols:]
		for j, x := range v {
			panel[j*s.cols+i%s.cols] = x
		}
	}
	return p
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// Rows is memory for a block of rows.
type Rows struct {
	Stride int
	data   []float32
	dim    int
}

// NewRows returns memory for n rows, zeros.
func (p *Panels) NewRows(n int) *Rows {
	r := &Rows{dim: p.dim}
	// Rows that begin a multiple of a page apart would all want the same few places of the first cache.
	r.Stride = roundUp(p.dim, 16) + 16
	r.data = make([]float32, roundUp(n, p.shape.rows)*r.Stride)
	return r
}

// Row returns the memory of a row.
func (r *Rows) Row(i, dim int) []float32 { return r.data[i*r.Stride:][:dim:dim] }

// Group returns the number of rows of a tile. Blocks of a multiple of it waste nothing.
func (p *Panels) Group() int { return p.shape.rows }

// Scores computes the scores of the first n rows against the vectors of a panel: Cols to a row, in dst, which has room for n rounded up to a multiple of
// Group. Rows beyond n are computed with whatever they hold.
func (p *Panels) Scores(dst []float32, panel int, rows *Rows, n int) {
	s, base := &p.shape, p.data[panel*p.dim*p.Cols:][:p.dim*p.Cols]
	for from := 0; from < p.dim; from += p.chunk {
		k := min(p.chunk, p.dim-from)
		part := base[from*p.Cols:]
		for i := 0; i < n; i += s.rows {
			s.run(k, rows.data[i*rows.Stride+from:], rows.Stride, part, dst[i*p.Cols:], from > 0)
		}
	}
}

// Choose sets bit j of masks[i], for each of the masks, unless scores[i][j] + slack[i]·scale[j] − bias[i] < limit[j], the scores being Cols to a row, scale
// and limit Cols long. What is no number is chosen.
func (p *Panels) Choose(masks []uint32, scores, slack, bias, scale, limit []float32) {
	if len(masks) == 0 {
		return
	}
	n, cols := len(masks), p.Cols
	p.kernel.choose(masks, scores[:n*cols], slack[:n], bias[:n], scale[:cols], limit[:cols])
}

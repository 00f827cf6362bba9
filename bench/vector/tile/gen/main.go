// Command gen writes the tiles in AVX2 and AVX-512 as Go assembly: go generate ./bench/vector/tile. It is a module of its own, so that the product does not
// depend on what writes its assembly.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// unroll is how many components an iteration takes; package tile fills up to a multiple of it.
const unroll = 4

// machine is what differs between the instruction sets.
type machine struct {
	name   string
	bytes  int // of a register
	vector func() VecVirtual
	move   func(from, to Op)
	mask   func(reg Op) // fills a register with all bits but the signs
	and    func(mask, x, to Op)
	clear  func(x Op)
}

var avx2 = machine{
	name: "AVX2", bytes: 32, vector: YMM, move: func(from, to Op) { VMOVUPS(from, to) },
	mask: func(r Op) { VPCMPEQD(r, r, r); VPSRLD(Imm(1), r, r) },
	and:  func(mask, x, to Op) { VANDPS(mask, x, to) }, clear: func(x Op) { VXORPS(x, x, x) },
}

var avx512 = machine{
	name: "AVX512", bytes: 64, vector: ZMM, move: func(from, to Op) { VMOVUPS(from, to) },
	mask: func(r Op) { VPTERNLOGD(Imm(0xff), r, r, r); VPSRLD(Imm(1), r, r) },
	and:  func(mask, x, to Op) { VPANDD(mask, x, to) }, clear: func(x Op) { VPXORD(x, x, x) },
}

func main() {
	ConstraintExpr("amd64")
	avx2.tile("product", 6, avx2.product)
	avx2.tile("difference", 4, avx2.difference)
	avx2.choose()
	avx512.tile("product", 12, avx512.product)
	avx512.tile("difference", 8, avx512.difference)
	avx512.choose()
	Generate()
}

// tile writes a tile of so many rows by two registers. begin returns what adds up one component of one row: the row's is at a, the panel's are in b.
func (m machine) tile(name string, rows int, begin func() func(a Mem, b, sums []VecVirtual)) {
	TEXT(name+m.name, NOSPLIT, "func(k int, rows *float32, stride int, panel, scores *float32, add bool)")
	Pragma("noescape")
	Doc(name + m.name + " computes a tile.")
	k, panel, scores := Load(Param("k"), GP64()), Load(Param("panel"), GP64()), Load(Param("scores"), GP64())
	stride := Load(Param("stride"), GP64())
	SHLQ(Imm(2), stride)
	// Three rows can be reached from one pointer.
	pointers := []Register{Load(Param("rows"), GP64())}
	for len(pointers)*3 < rows {
		next := GP64()
		LEAQ(Mem{Base: pointers[len(pointers)-1], Index: stride, Scale: 2}, next)
		ADDQ(stride, next)
		pointers = append(pointers, next)
	}
	row := func(i, component int) Mem {
		at := Mem{Base: pointers[i/3], Disp: 4 * component}
		if i%3 > 0 {
			at.Index, at.Scale = stride, uint8(i%3)
		}
		return at
	}
	step := begin()
	sums := make([]VecVirtual, 2*rows)
	for i := range sums {
		sums[i] = m.vector()
		m.clear(sums[i])
	}
	b := []VecVirtual{m.vector(), m.vector()}
	Label(name + m.name + "Loop")
	for u := range unroll {
		for half := range b {
			m.move(Mem{Base: panel, Disp: m.bytes * (2*u + half)}, b[half])
		}
		for i := range rows {
			step(row(i, u), b, sums[2*i:][:2])
		}
	}
	for _, p := range pointers {
		ADDQ(Imm(4*unroll), p)
	}
	ADDQ(U32(2*m.bytes*unroll), panel)
	SUBQ(Imm(unroll), k)
	JG(LabelRef(name + m.name + "Loop"))

	add := Load(Param("add"), GP8())
	TESTB(add, add)
	JZ(LabelRef(name + m.name + "Store"))
	for i := range sums {
		VADDPS(Mem{Base: scores, Disp: m.bytes * i}, sums[i], sums[i])
	}
	Label(name + m.name + "Store")
	for i := range sums {
		m.move(sums[i], Mem{Base: scores, Disp: m.bytes * i})
	}
	VZEROUPPER()
	RET()
}

func (m machine) product() func(a Mem, b, sums []VecVirtual) {
	x := m.vector()
	return func(a Mem, b, sums []VecVirtual) {
		VBROADCASTSS(a, x)
		for half := range sums {
			VFMADD231PS(b[half], x, sums[half])
		}
	}
}

func (m machine) difference() func(a Mem, b, sums []VecVirtual) {
	mask, x, d := m.vector(), m.vector(), m.vector()
	m.mask(mask)
	return func(a Mem, b, sums []VecVirtual) {
		VBROADCASTSS(a, x)
		for half := range sums {
			VSUBPS(x, b[half], d)
			m.and(mask, d, d)
			VSUBPS(d, sums[half], sums[half])
		}
	}
}

// choose writes the comparison of two registers of scores per row.
func (m machine) choose() {
	TEXT("choose"+m.name, NOSPLIT, "func(n int, masks *uint32, scores, slack, bias, scale, limit *float32)")
	Pragma("noescape")
	Doc("choose" + m.name + " compares scores with limits.")
	n, masks, scores := Load(Param("n"), GP64()), Load(Param("masks"), GP64()), Load(Param("scores"), GP64())
	slack, bias := Load(Param("slack"), GP64()), Load(Param("bias"), GP64())
	var scale, limit [2]VecVirtual
	for half := range 2 {
		scale[half], limit[half] = m.vector(), m.vector()
		m.move(Mem{Base: Load(Param("scale"), GP64()), Disp: m.bytes * half}, scale[half])
		m.move(Mem{Base: Load(Param("limit"), GP64()), Disp: m.bytes * half}, limit[half])
	}
	a, b, x := m.vector(), m.vector(), m.vector()
	Label("choose" + m.name + "Loop")
	VBROADCASTSS(Mem{Base: slack}, a)
	VBROADCASTSS(Mem{Base: bias}, b)
	chosen := [2]GPVirtual{GP32(), GP32()}
	for half := range chosen {
		m.move(Mem{Base: scores, Disp: m.bytes * half}, x)
		VFMADD231PS(scale[half], a, x)
		VSUBPS(b, x, x)
		const notLess = 5 // or not comparable
		if m.bytes == 64 {
			bits := K()
			VCMPPS(Imm(notLess), limit[half], x, bits)
			KMOVW(bits, chosen[half])
		} else {
			VCMPPS(Imm(notLess), limit[half], x, x)
			VMOVMSKPS(x, chosen[half])
		}
	}
	SHLL(Imm(uint64(m.bytes/4)), chosen[1])
	ORL(chosen[1], chosen[0])
	MOVL(chosen[0], Mem{Base: masks})
	ADDQ(U32(2*m.bytes), scores)
	for _, p := range []Register{masks, slack, bias} {
		ADDQ(Imm(4), p)
	}
	DECQ(n)
	JNZ(LabelRef("choose" + m.name + "Loop"))
	VZEROUPPER()
	RET()
}

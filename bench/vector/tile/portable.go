package tile

import "math"

// portable is the kernel in plain Go.
var portable = &Kernel{
	Name:   "go",
	ops:    [2]shape{Product: {rows: 2, cols: 4, run: productGo}, Difference: {rows: 2, cols: 4, run: differenceGo}},
	choose: chooseGo,
}

func productGo(k int, rows []float32, stride int, panel, scores []float32, add bool) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float32
	a, b := rows[:k], rows[stride:][:k]
	panel = panel[:4*k]
	for i := 0; i < len(a) && i < len(b) && len(panel) >= 4; i++ {
		x, y := a[i], b[i]
		q0, q1, q2, q3 := panel[0], panel[1], panel[2], panel[3]
		panel = panel[4:]
		s00 += x * q0
		s01 += x * q1
		s02 += x * q2
		s03 += x * q3
		s10 += y * q0
		s11 += y * q1
		s12 += y * q2
		s13 += y * q3
	}
	c := (*[8]float32)(scores)
	if !add {
		*c = [8]float32{}
	}
	c[0] += s00
	c[1] += s01
	c[2] += s02
	c[3] += s03
	c[4] += s10
	c[5] += s11
	c[6] += s12
	c[7] += s13
}

// differenceGo adds up in float64, whose absolute value is compiled without a branch; that of a float32 is not.
func differenceGo(k int, rows []float32, stride int, panel, scores []float32, add bool) {
	var s00, s01, s02, s03, s10, s11, s12, s13 float64
	a, b := rows[:k], rows[stride:][:k]
	panel = panel[:4*k]
	for i := 0; i < len(a) && i < len(b) && len(panel) >= 4; i++ {
		x, y := float64(a[i]), float64(b[i])
		q0, q1, q2, q3 := float64(panel[0]), float64(panel[1]), float64(panel[2]), float64(panel[3])
		panel = panel[4:]
		s00 += math.Abs(x - q0)
		s01 += math.Abs(x - q1)
		s02 += math.Abs(x - q2)
		s03 += math.Abs(x - q3)
		s10 += math.Abs(y - q0)
		s11 += math.Abs(y - q1)
		s12 += math.Abs(y - q2)
		s13 += math.Abs(y - q3)
	}
	c := (*[8]float32)(scores)
	if !add {
		*c = [8]float32{}
	}
	c[0] -= float32(s00)
	c[1] -= float32(s01)
	c[2] -= float32(s02)
	c[3] -= float32(s03)
	c[4] -= float32(s10)
	c[5] -= float32(s11)
	c[6] -= float32(s12)
	c[7] -= float32(s13)
}

func chooseGo(masks []uint32, scores, slack, bias, scale, limit []float32) {
	cols := len(limit)
	for i := range masks {
		var mask uint32
		for j, s := range scores[i*cols:][:cols] {
			if !(s+slack[i]*scale[j]-bias[i] < limit[j]) {
				mask |= 1 << j
			}
		}
		masks[i] = mask
	}
}

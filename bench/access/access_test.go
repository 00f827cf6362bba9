package access

import (
	"fmt"
	"math"
	"testing"
)

// chiSquare compares counts with the shares that are expected. Cells that expect less than ten draws are put together. It returns
// the statistic in standard deviations from its mean.
func chiSquare(counts []int, shares []float64, draws int) float64 {
	var chi, restWant float64
	var restGot, cells int
	for i, count := range counts {
		want := shares[i] * float64(draws)
		if want < 10 {
			restWant, restGot = restWant+want, restGot+count
			continue
		}
		chi += (float64(count) - want) * (float64(count) - want) / want
		cells++
	}
	if restWant > 0 {
		chi += (float64(restGot) - restWant) * (float64(restGot) - restWant) / restWant
		cells++
	}
	freedom := float64(max(cells-1, 1))
	return (chi - freedom) / math.Sqrt(2*freedom)
}

func zipfShares(n int, theta float64) []float64 {
	shares, sum := make([]float64, n), 0.0
	for k := range shares {
		shares[k] = math.Pow(float64(k+1), -theta)
		sum += shares[k]
	}
	for k := range shares {
		shares[k] /= sum
	}
	return shares
}

func source(t testing.TB, d Distribution, rows uint64) *Source {
	t.Helper()
	s, err := New(d, rows, 7)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const draws = 50_000

// Every distribution draws each row as often as it says. The seed is fixed, so the test does not depend on luck.
func TestDrawsFollowTheDistribution(t *testing.T) {
	for _, rows := range []int{1, 2, 100, 5000} {
		for _, theta := range []float64{0, 0.5, 0.99, 1, 1.000001, 1.5, 3} {
			shares := zipfShares(rows, theta)
			for _, name := range []string{Zipf, Latest} {
				s := source(t, Distribution{Name: name, Theta: theta}, uint64(rows))
				w, counts := s.Drawer(), make([]int, rows)
				for n := range uint64(draws) {
					row := w.Draw(n, uint64(rows))
					if name == Zipf {
						counts[s.scatter.Place(row)]++
					} else {
						counts[uint64(rows)-1-row]++
					}
				}
				if z := chiSquare(counts, shares, draws); z > 4.5 {
					t.Errorf("%s, theta %v, %d rows: %.1f standard deviations off", name, theta, rows, z)
				}
			}
		}
		uniform, counts := source(t, Distribution{Name: Uniform}, uint64(rows)).Drawer(), make([]int, rows)
		for n := range uint64(draws) {
			counts[uniform.Draw(n, uint64(rows))]++
		}
		if z := chiSquare(counts, zipfShares(rows, 0), draws); z > 4.5 {
			t.Errorf("uniform, %d rows: %.1f standard deviations off", rows, z)
		}
	}
}

func TestHotspot(t *testing.T) {
	const rows = 1000
	for _, c := range []struct{ rows, operations float64 }{{0.2, 0.8}, {0.01, 0.5}, {1, 0.5}, {0.5, 0}, {0.3, 1}} {
		s := source(t, Distribution{Name: Hotspot, HotRows: c.rows, HotOperations: c.operations}, rows)
		hot := c.rows * rows
		shares := make([]float64, rows)
		for i := range shares {
			switch {
			case c.rows == 1:
				shares[i] = 1.0 / rows
			case float64(i) < hot:
				shares[i] = c.operations / hot
			default:
				shares[i] = (1 - c.operations) / (rows - hot)
			}
		}
		w, counts := s.Drawer(), make([]int, rows)
		for n := range uint64(draws) {
			counts[s.scatter.Place(w.Draw(n, rows))]++
		}
		if z := chiSquare(counts, shares, draws); z > 4.5 {
			t.Errorf("%v: %.1f standard deviations off", c, z)
		}
	}
}

// Rows that are added are drawn, rows that are not there never.
func TestOnlyRowsThatExistAreDrawn(t *testing.T) {
	for _, name := range []string{Uniform, Zipf, Hotspot, Latest} {
		w := source(t, Distribution{Name: name, Theta: 0.99, HotRows: 0.1, HotOperations: 0.5}, 50).Drawer()
		seen := map[uint64]bool{}
		for n := range uint64(20_000) {
			rows := 50 + n/1000
			row := w.Draw(n, rows)
			if row >= rows {
				t.Fatalf("%s: row %d of %d", name, row, rows)
			}
			seen[row] = true
		}
		for row := range uint64(60) { // the later ones were there for less long
			if !seen[row] {
				t.Errorf("%s: row %d was never drawn", name, row)
			}
		}
	}
}

func TestDrawsDependOnNothingElse(t *testing.T) {
	s := source(t, Distribution{Name: Zipf, Theta: 0.99}, 1000)
	a, b := s.Drawer(), s.Drawer()
	b.Draw(5, 2000)
	for _, n := range []uint64{9, 3, 1 << 60, 3} {
		if x, y := a.Draw(n, 1000), b.Draw(n, 1000); x != y {
			t.Errorf("operation %d goes to row %d or %d", n, x, y)
		}
	}
}

func TestBadDistributions(t *testing.T) {
	for _, d := range []Distribution{
		{}, {Name: "zipfian"}, {Name: Zipf, Theta: -1}, {Name: Zipf, Theta: math.NaN()}, {Name: Latest, Theta: 11},
		{Name: Hotspot, HotOperations: 0.5}, {Name: Hotspot, HotRows: 0.5, HotOperations: 1.5},
	} {
		if _, err := New(d, 10, 1); err == nil {
			t.Errorf("%+v is taken", d)
		}
	}
	if _, err := New(Distribution{Name: Uniform}, 0, 1); err == nil {
		t.Error("no rows are taken")
	}
}

func TestDrawingAllocatesNothing(t *testing.T) {
	for _, name := range []string{Uniform, Zipf, Hotspot, Latest} {
		w := source(t, Distribution{Name: name, Theta: 0.99, HotRows: 0.1, HotOperations: 0.5}, 1000).Drawer()
		n := uint64(0)
		if allocs := testing.AllocsPerRun(1000, func() { w.Draw(n, 1000+n); n++ }); allocs > 0 {
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

func BenchmarkDraw(b *testing.B) {
	for _, d := range []Distribution{{Name: Uniform}, {Name: Zipf, Theta: 0.99}, {Name: Zipf, Theta: 1}, {Name: Latest, Theta: 0.99}, {Name: Hotspot, HotRows: 0.2, HotOperations: 0.8}} {
		b.Run(fmt.Sprintf("%s-%v", d.Name, d.Theta), func(b *testing.B) {
			w := source(b, d, 10_000_000).Drawer()
			var n, sum uint64
			for b.Loop() {
				sum += w.Draw(n, 10_000_000)
				n++
			}
			_ = sum
		})
	}
}

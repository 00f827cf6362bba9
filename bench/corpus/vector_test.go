package corpus

import (
	"math"
	"slices"
	"strings"
	"testing"
)

func dot(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// vectors makes n rows of a vector column.
func vectors(t *testing.T, seed uint64, expr string, n int) [][]float32 {
	t.Helper()
	c := mustCorpus(t, seed, map[string]any{"v": expr}, KeyInteger, false)
	var r Row
	var all [][]float32
	for i := range n {
		c.Row(&r, uint64(i), 0)
		all = append(all, slices.Clone(r.Columns[0].Floats()))
	}
	return all
}

func TestUniformVectorsStayInTheirRange(t *testing.T) {
	for _, test := range []struct {
		expr   string
		lo, hi float32
	}{{"vector:7", -1, 1}, {"vector:7:0..1e-3", 0, 1e-3}, {"vector:7:-1e38..1e38", -1e38, 1e38}, {"vector:2:16777216..16777218", 16777216, 16777218}} {
		for _, v := range vectors(t, 1, test.expr, 500) {
			for _, x := range v {
				if !(x >= test.lo && x < test.hi) {
					t.Fatalf("%s: %v is not in [%v, %v)", test.expr, x, test.lo, test.hi)
				}
			}
		}
	}
}

func TestClusteredVectorsHaveLengthOne(t *testing.T) {
	for _, expr := range []string{"vector:1:clustered:2", "vector:3:clustered:1:1000", "vector:129:clustered:5", "vector:768:clustered:200:0"} {
		for _, v := range vectors(t, 1, expr, 50) {
			if n := dot(v, v); math.Abs(n-1) > 1e-6 {
				t.Fatalf("%s: a vector has length %v", expr, math.Sqrt(n))
			}
		}
	}
}

// With sigma 0 every vector is a centre, and all centres are met equally often.
func TestClustersAreEven(t *testing.T) {
	counts := make(map[float32]int)
	for _, v := range vectors(t, 3, "vector:4:clustered:10:0", 5000) {
		counts[v[0]]++
	}
	if len(counts) != 10 {
		t.Fatalf("%d centres, want 10", len(counts))
	}
	var even []int
	for _, n := range counts {
		even = append(even, n)
	}
	checkEven(t, "clusters", even)
}

// The documented geometry: what the distances within and between clusters are.
func TestClustersAreTightAndApart(t *testing.T) {
	const sigma = 0.35
	all := vectors(t, 20260908, "vector:128:clustered:20", 600)
	var within, between []float64
	for i, a := range all {
		for _, b := range all[:i] {
			if d := 1 - dot(a, b); d < 0.4 {
				within = append(within, d)
			} else {
				between = append(between, d)
			}
		}
	}
	mean := func(x []float64) float64 {
		var sum float64
		for _, d := range x {
			sum += d
		}
		return sum / float64(len(x))
	}
	if want := 1 - 1/(1+sigma*sigma); math.Abs(mean(within)-want) > 0.01 {
		t.Errorf("mean distance within a cluster %.3f, want %.3f", mean(within), want)
	}
	if math.Abs(mean(between)-1) > 0.05 {
		t.Errorf("mean distance between clusters %.3f, want 1", mean(between))
	}
	share := float64(len(within)) / float64(len(within)+len(between))
	if math.Abs(share-1.0/20) > 0.01 {
		t.Errorf("%.3f of the pairs are within a cluster, want 1/20", share)
	}
	if gap := slices.Min(between) - slices.Max(within); gap < 0.1 {
		t.Errorf("clusters run into each other: farthest within %.3f, nearest between %.3f", slices.Max(within), slices.Min(between))
	}
}

func TestCentresComeFromTheSeedAndTheColumn(t *testing.T) {
	centre := func(seed uint64, table map[string]any, column int) []float32 {
		var r Row
		mustCorpus(t, seed, table, KeyInteger, false).Row(&r, 0, 0)
		return slices.Clone(r.Columns[column].Floats())
	}
	const expr = "vector:8:clustered:1:0" // every vector is the one centre
	alone := centre(1, map[string]any{"b": expr}, 0)
	if beside := centre(1, map[string]any{"a": expr, "b": expr}, 1); !slices.Equal(alone, beside) {
		t.Error("a column beside another has other centres than alone")
	}
	if other := centre(1, map[string]any{"a": expr}, 0); slices.Equal(alone, other) {
		t.Error("two columns share their centres")
	}
	if other := centre(2, map[string]any{"b": expr}, 0); slices.Equal(alone, other) {
		t.Error("two seeds share their centres")
	}
}

func TestBellHasItsMoments(t *testing.T) {
	const n = 200_000
	var sum, squares, most float64
	for i := range uint64(n) {
		x := float64(bell(word(99, i)))
		sum, squares, most = sum+x, squares+x*x, max(most, math.Abs(x))
	}
	if mean := sum / n / bellDeviation; math.Abs(mean) > 0.01 {
		t.Errorf("mean %.4f standard deviations, want 0", mean)
	}
	if deviation := math.Sqrt(squares/n) / bellDeviation; math.Abs(deviation-1) > 0.01 {
		t.Errorf("standard deviation %.4f of what it should be", deviation)
	}
	if most > 131070 {
		t.Errorf("a value of %v lies outside", most)
	}
}

// A cluster column tells which vectors are around the same centre, whether it comes before or after them, nested or not, in whatever case.
func TestClusterColumnsTellTheCluster(t *testing.T) {
	c := mustCorpus(t, 1, map[string]any{
		"a": "cluster:o.Vec", "b": "cluster:w", "o": map[string]any{"vec": "vector:6:clustered:5:0"}, "w": "vector:6:clustered:3:0", "z": "Cluster: o.vec",
	}, KeyInteger, false)
	centres := map[int64][]float32{}
	var r, one Row
	places := []*Row{&r, &one}
	for i := range 500 {
		c.Row(&r, uint64(i), 2)
		c.Columns(&one, uint64(i), 2, c.template.Mask([]int{0}))
		for _, row := range places {
			if row.Columns[0].Int() != r.Columns[4].Int() {
				t.Fatalf("row %d: cluster %d, alone or in another column %d", i, r.Columns[4].Int(), row.Columns[0].Int())
			}
		}
		for number, vector := range map[int64][]float32{r.Columns[0].Int(): r.Columns[2].Elems()[0].Floats(), 100 + r.Columns[1].Int(): r.Columns[3].Floats()} {
			if known := centres[number]; known == nil {
				centres[number] = slices.Clone(vector)
			} else if !slices.Equal(known, vector) {
				t.Fatalf("row %d: cluster %d has two centres", i, number)
			}
		}
	}
	if len(centres) != 8 {
		t.Errorf("%d clusters, want 5 and 3", len(centres))
	}
	if d := c.template.columns[0].Domain(); d.Lo != 0 || d.Hi != 4 {
		t.Errorf("the domain is %d to %d, want 0 to 4", d.Lo, d.Hi)
	}
}

func TestClusterColumnsOfNothing(t *testing.T) {
	for expr, want := range map[string]string{
		"cluster":       "cluster needs the name of a clustered vector column",
		"cluster:":      "cluster needs the name",
		"cluster:w":     "w is no clustered vector column (there are: o.vec, v)",
		"cluster:plain": "plain is no clustered vector column",
		"cluster:o.vec": "several columns are named o.vec but for case",
	} {
		_, err := ParseTemplate(map[string]any{
			"c": expr, "plain": "vector:3", "v": "vector:3:clustered:2", "o": map[string]any{"Vec": "vector:3:clustered:2", "vec": "vector:3:clustered:2"},
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
	if _, err := ParseTemplate(map[string]any{"c": "cluster:v"}); err == nil || !strings.Contains(err.Error(), "there is none") {
		t.Errorf("no vectors at all: %v", err)
	}
}

package load

import (
	"math"
	"slices"
	"testing"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestHDRKeepsEveryCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := fill(rapid.SliceOf(durations()).Draw(t, "values"))
		encoded, err := h.EncodeHDR()
		if err != nil {
			t.Fatal(err)
		}
		back, err := DecodeHDR(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if back.Count() != h.Count() {
			t.Fatalf("%d of %d durations came back", back.Count(), h.Count())
		}
		if diff := cmp.Diff(slices.Collect(h.Buckets()), slices.Collect(back.Buckets())); diff != "" {
			t.Fatal(diff)
		}
	})
}

// What other tools read from our export: the same quantiles, and edges rounded as HdrHistogram rounds them.
func TestHDRReadersSeeOurQuantiles(t *testing.T) {
	h := new(Histogram)
	for v := int64(1000); v < 200e9; v += v/70 + 1 {
		h.Record(v)
	}
	encoded, err := h.EncodeHDR()
	if err != nil {
		t.Fatal(err)
	}
	hdr, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		t.Fatal(err)
	}
	near := func(name string, got, want int64) {
		if math.Abs(float64(got-want)) > float64(want)/1000 {
			t.Errorf("%s: a reader sees %d, we say %d", name, got, want)
		}
	}
	for _, q := range []float64{0.1, 0.5, 0.9, 0.95, 0.99, 0.999} {
		want, _ := h.Quantile(q)
		// The library takes the nearest rank half a rank differently; one of our buckets is the most that can make.
		got := hdr.ValueAtPercentile(q * 100)
		if math.Abs(float64(got-want)) > float64(want)/60 {
			t.Errorf("q %v: a reader sees %d, we say %d", q, got, want)
		}
	}
	least, _ := h.Min()
	most, _ := h.Max()
	near("minimum", hdr.Min(), least)
	near("maximum", hdr.Max(), most)
}

func TestHDRExportsTheExtremes(t *testing.T) {
	for name, values := range map[string][]int64{
		"none":    nil,
		"zero":    {0},
		"one":     {1},
		"two":     {1, 2},
		"largest": {0, math.MaxInt64, math.MaxInt64},
		"rounded": {123_456_789},
	} {
		t.Run(name, func(t *testing.T) {
			encoded, err := fill(values).EncodeHDR()
			if err != nil {
				t.Fatal(err)
			}
			back, err := DecodeHDR(encoded)
			if err != nil {
				t.Fatal(err)
			}
			if back.Count() != int64(len(values)) {
				t.Errorf("%d of %d durations came back", back.Count(), len(values))
			}
		})
	}
}

func TestDecodeHDRRefusesRubbish(t *testing.T) {
	for _, text := range []string{"", "not base64!", "AAAA"} {
		if _, err := DecodeHDR(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

package load

import (
	"fmt"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// hdrDigits is the resolution of exported histograms. At 3 digits each of our buckets is a whole number of HDR's, so no count moves.
const hdrDigits = 3

// EncodeHDR returns the histogram in HdrHistogram's V2 format, compressed, base64: the unit is the nanosecond, the range 1 to the
// maximum, 3 significant digits. Every duration is in it; one that would not fit is an error, not a loss. A reader sees each duration
// at the upper bound of our bucket, so its quantiles are Quantile's and its mean is up to 0.4 % high. The minimum and maximum
// are in it too, but HdrHistogram rounds both to edges of its own buckets (less than 0.1 %): the exact ones are Min and Max.
func (h *Histogram) EncodeHDR() (string, error) {
	hdr := hdrhistogram.New(1, max(h.max, 2), hdrDigits)
	least, _ := h.Min()
	left := h.count > 1 // the minimum is exported as itself, unless it is the maximum too
	for b := range h.Buckets() {
		if left {
			if err := hdr.RecordValues(least, 1); err != nil {
				return "", fmt.Errorf("export histogram: minimum %d ns: %w", least, err)
			}
			b.Count--
			left = false
		}
		at := min(b.High, h.max)
		if err := hdr.RecordValues(at, b.Count); err != nil {
			return "", fmt.Errorf("export histogram: %d durations of %d ns: %w", b.Count, at, err)
		}
	}
	if hdr.TotalCount() != h.count {
		return "", fmt.Errorf("export histogram: %d of %d durations arrived", hdr.TotalCount(), h.count)
	}
	encoded, err := hdr.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return "", fmt.Errorf("export histogram: %w", err)
	}
	return string(encoded), nil
}

// DecodeHDR reads a histogram in HdrHistogram's V2 format, compressed, base64, whose unit is the nanosecond. Of one that EncodeHDR
// wrote, every bucket's count is as it was; minimum, maximum and sum are only as near as the format keeps them.
func DecodeHDR(encoded string) (*Histogram, error) {
	hdr, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil {
		return nil, fmt.Errorf("import histogram: %w", err)
	}
	h := new(Histogram)
	for _, bar := range hdr.Distribution() {
		if bar.Count == 0 {
			continue
		}
		h.recordN(bar.To, bar.Count)
	}
	return h, nil
}

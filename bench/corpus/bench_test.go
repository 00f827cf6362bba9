//go:build unix

package corpus

import (
	"fmt"
	"syscall"
	"testing"
	"time"
)

// Each benchmark sets how many bytes a row has, so that MB/s tells the cost per byte, and reports the CPU time of the process per operation
// beside the elapsed time: on a machine with other work to do only the former says what the code costs.

// measure runs op with a counter.
func measure(b *testing.B, op func(i uint64)) {
	b.Helper()
	b.ReportAllocs()
	op(0)
	var i uint64
	before := cpuTime()
	for b.Loop() {
		op(i)
		i++
	}
	b.ReportMetric(float64(cpuTime()-before)/float64(b.N), "cpu-ns/op")
}

// cpuTime returns the CPU time that the process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func BenchmarkRow1KB(b *testing.B) {
	c := mustCorpus(b, 1, crudTable(), KeyInteger, false)
	var r Row
	c.Row(&r, 0, 0)
	b.SetBytes(int64(len(r.AppendJSON(nil, c.template))))
	measure(b, func(i uint64) { c.Row(&r, i, 0) })
}

func BenchmarkKey(b *testing.B) {
	for _, kind := range KeyKinds() {
		for _, order := range []string{"ordered", "random"} {
			b.Run(fmt.Sprintf("%s/%s", kind, order), func(b *testing.B) {
				c := mustCorpus(b, 1, crudTable(), kind, order == "random")
				var buf KeyBuffer
				measure(b, func(i uint64) { c.Key(&buf, i) })
			})
		}
	}
}

func BenchmarkChecksum1KB(b *testing.B) {
	c := mustCorpus(b, 1, crudTable(), KeyInteger, false)
	var r Row
	c.Row(&r, 0, 0)
	b.SetBytes(int64(len(r.AppendJSON(nil, c.template))))
	var sum uint64
	measure(b, func(uint64) { sum += r.Checksum() })
}

func BenchmarkChecksumText1KB(b *testing.B) {
	c := mustCorpus(b, 1, map[string]any{"text": "string:1024"}, KeyInteger, false)
	var r Row
	c.Row(&r, 0, 0)
	b.SetBytes(1024)
	var sum uint64
	measure(b, func(uint64) { sum += r.Checksum() })
}

func BenchmarkRowString1KB(b *testing.B) {
	c := mustCorpus(b, 1, map[string]any{"text": "string:1024"}, KeyInteger, false)
	var r Row
	c.Row(&r, 0, 0)
	b.SetBytes(1024)
	measure(b, func(i uint64) { c.Row(&r, i, 0) })
}

func benchmarkVector(b *testing.B, expr string) {
	c := mustCorpus(b, 1, map[string]any{"v": expr}, KeyInteger, false)
	var r Row
	b.SetBytes(4 * 768)
	measure(b, func(i uint64) { c.Row(&r, i, 0) })
}

func BenchmarkVector768Uniform(b *testing.B) { benchmarkVector(b, "vector:768") }

func BenchmarkVector768Clustered(b *testing.B) { benchmarkVector(b, "vector:768:clustered:200") }

func BenchmarkBinaryAppend1KB(b *testing.B) {
	c := mustCorpus(b, 1, crudTable(), KeyInteger, false)
	var r Row
	c.Row(&r, 0, 0)
	buf := r.AppendBinary(nil, c.template)
	b.SetBytes(int64(len(buf)))
	measure(b, func(uint64) { buf = r.AppendBinary(buf[:0], c.template) })
}

func BenchmarkBinaryParse1KB(b *testing.B) {
	c := mustCorpus(b, 1, crudTable(), KeyInteger, false)
	var r Row
	c.Row(&r, 0, 0)
	buf := r.AppendBinary(nil, c.template)
	b.SetBytes(int64(len(buf)))
	measure(b, func(uint64) {
		if err := ParseBinary(c.template, buf, &r); err != nil {
			b.Fatal(err)
		}
	})
}

func BenchmarkJSONAppend1KB(b *testing.B) {
	c := mustCorpus(b, 1, crudTable(), KeyInteger, false)
	var r Row
	c.Row(&r, 0, 0)
	buf := r.AppendJSON(nil, c.template)
	b.SetBytes(int64(len(buf)))
	measure(b, func(uint64) { buf = r.AppendJSON(buf[:0], c.template) })
}

func BenchmarkJSONParse1KB(b *testing.B) {
	c := mustCorpus(b, 1, crudTable(), KeyInteger, false)
	var r Row
	c.Row(&r, 0, 0)
	buf := r.AppendJSON(nil, c.template)
	b.SetBytes(int64(len(buf)))
	measure(b, func(uint64) {
		if err := r.ParseJSON(c.template, buf); err != nil {
			b.Fatal(err)
		}
	})
}

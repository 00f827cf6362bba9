//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkOrchestration runs a benchmark whose legs take about a minute and prints what a run takes beside its legs: Temporal, the agent's
// start, the calibration, checks, results. It is to be at most 2 s plus 1 % of the legs. The isolation, which waits for a quiet machine as long as it is told
// to, is left out; and so is the start of the embedded Temporal server, which starter up has done.
//
//	go test -tags e2e ./e2e -run '^$' -bench Orchestration -benchtime 1x -timeout 30m
func BenchmarkOrchestration(b *testing.B) {
	w := newWorld(b)
	up := w.start("up")
	eventually(b, time.Minute, "starter up serves", func() bool { return strings.Contains(up.stdout.String(), "host ") })
	for b.Loop() {
		begun := time.Now()
		o := w.run("run", "-d", "sqlite", "-s", "400k", "-c", "2", "-t", "2", "--isolation", "none", "--format", "json")
		wall := time.Since(begun).Seconds()
		if o.code != 0 {
			b.Fatalf("exit %d: %s", o.code, o.stderr)
		}
		var legs float64
		d := w.document(o)
		for _, leg := range d.Legs {
			legs += time.Duration(leg.Measured.WallNs).Seconds()
		}
		b.ReportMetric(wall, "s/run")
		b.ReportMetric(legs, "s/legs")
		b.ReportMetric(wall-legs, "s/overhead")
		b.ReportMetric(2+legs/100, "s/budget")
	}
}

package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/durabench/durabench/bench/result"
)

// legView is what a display shows of one step of a run.
type legView struct {
	ID, Title string
	Done      int64
	Total     int64 // 0 when unknown, as in a windowed leg
	Failed    int64
	Rate      float64 // operations per second
	P99       time.Duration
	Warming   bool          // in the warm-up before a window
	Elapsed   time.Duration // since the start of the leg or of its window
	Window    time.Duration // of a windowed leg
	Left      time.Duration // what the leg will still take, 0 when that cannot be told
	Running   bool
	Finished  bool
	Verdict   result.Verdict
	Why       string
	Headline  string // of a finished leg, e.g. "21,345/s  p99 1.2 ms"
}

// runView is what a display shows of a run.
type runView struct {
	Waiting string // what goes on or is waited for, e.g. "starting the server"
	Legs    []legView
}

// display shows a run while it goes on.
type display interface {
	show(runView)
	close()
}

// newDisplay returns bars on a terminal, else plain lines, one at most every ten seconds.
func (a *app) newDisplay(w io.Writer) display {
	if isTerminal(w) {
		return &bars{progress: mpb.New(mpb.WithOutput(w), mpb.WithRefreshRate(250*time.Millisecond), mpb.WithWidth(40)), ended: map[string]bool{}}
	}
	return &lines{w: w, shown: map[string]bool{}}
}

// bars is the display for a terminal: a bar for what is measured, and above it a line for each leg that has ended. A workload file may have
// hundreds of legs, which no terminal has lines for.
type bars struct {
	progress *mpb.Progress
	waiting  *mpb.Bar
	text     string
	running  *legBar
	ended    map[string]bool
}

type legBar struct {
	*mpb.Bar
	view legView
}

func (b *bars) show(view runView) {
	b.text = view.Waiting
	if view.Waiting != "" && b.waiting == nil {
		b.waiting = b.progress.New(0, mpb.NopStyle(), mpb.BarRemoveOnComplete(), mpb.BarPriority(1<<20),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
				if b.text == "" {
					return ""
				}
				return b.text + " …"
			})))
	}
	for _, leg := range view.Legs {
		switch {
		case leg.Finished:
			b.end(leg)
		case leg.Running:
			b.run(leg)
		}
	}
}

// run moves the bar of the leg that runs.
func (b *bars) run(leg legView) {
	if b.running != nil && b.running.view.ID != leg.ID {
		b.drop()
	}
	if b.running == nil {
		bar := &legBar{view: leg}
		bar.Bar = b.progress.AddBar(1, mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name(leg.Title, decor.WC{W: 12, C: decor.DindentRight})),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return bar.view.status() })))
		b.running = bar
	}
	b.running.view = leg
	done, total := leg.part()
	b.running.SetTotal(total, false)
	b.running.SetCurrent(min(done, total-1)) // a bar that is full has ended
}

// end puts a line in the place of a leg's bar.
func (b *bars) end(leg legView) {
	if b.running != nil && b.running.view.ID == leg.ID {
		b.drop()
	}
	if b.ended[leg.ID] || !leg.ran() {
		return
	}
	b.ended[leg.ID] = true
	fmt.Fprintf(b.progress, "%-12s %s\n", leg.Title, leg.finishedText())
}

// drop removes the bar.
func (b *bars) drop() {
	b.running.Abort(true)
	b.running = nil
}

func (b *bars) close() {
	if b.waiting != nil {
		b.waiting.Abort(true)
	}
	if b.running != nil {
		b.drop()
	}
	b.progress.Wait()
}

// part is how far a leg is, of how much: operations, or milliseconds of a window.
func (v legView) part() (done, total int64) {
	switch {
	case v.Warming:
		return 0, 1
	case v.Window > 0:
		return v.Elapsed.Milliseconds(), max(v.Window.Milliseconds(), 1)
	}
	return v.Done, max(v.Total, 1)
}

// ran tells whether there is something to say of a finished leg while the run goes on. Of hundreds that do not run, the table at its end tells why.
func (v legView) ran() bool {
	return v.Verdict != result.Unsupported && v.Verdict != result.Skipped && v.Verdict != result.NotRun
}

// status is the text beside a leg's bar.
func (v legView) status() string {
	switch {
	case v.Finished && v.Verdict == result.Valid:
		return v.Headline
	case v.Finished:
		return fmt.Sprintf("%s: %s", v.Verdict, shorten(v.Why, 80))
	case v.Running:
		text := v.doing()
		if v.P99 > 0 {
			text += "  p99 " + latency(int64(v.P99))
		}
		if v.Failed > 0 {
			text += fmt.Sprintf("  %s failed", count(v.Failed))
		}
		if left := v.Left.Round(time.Second); left > 0 {
			text += "  ETA " + left.String()
		}
		return text
	}
	return ""
}

// doing says how far a running leg is and how fast.
func (v legView) doing() string {
	rate := count(int64(v.Rate)) + "/s"
	switch {
	case v.Warming:
		return fmt.Sprintf("warming up, %s operations  %s", count(v.Done), rate)
	case v.Window > 0:
		return fmt.Sprintf("%s of %s, %s operations  %s", v.Elapsed.Round(time.Second), v.Window, count(v.Done), rate)
	}
	return fmt.Sprintf("%s/%s  %s", count(v.Done), count(v.Total), rate)
}

// lines is the display for files and pipes: a line when something changes, and one every ten seconds in a leg or in what is waited for.
type lines struct {
	w       io.Writer
	waiting string        // what the last look saw being waited for, without its numbers
	text    string        // and what was printed of it, "" when nothing was
	told    time.Time     // and when
	pause   time.Duration // until it is told again
	shown   map[string]bool
	last    time.Time
}

// often is how long the lines of a leg are apart, and the first lines of what is waited for; those that follow come at last only every seldom.
const (
	often  = 10 * time.Second
	seldom = 2 * time.Minute
)

func (l *lines) show(view runView) {
	l.wait(view.Waiting)
	for _, leg := range view.Legs {
		if leg.Running && !l.shown["start "+leg.ID] {
			l.shown["start "+leg.ID] = true
			l.last = time.Now()
			fmt.Fprintf(l.w, "%s: started, %s\n", leg.ID, leg.planned())
		}
		if leg.Running && time.Since(l.last) >= often {
			l.last = time.Now()
			fmt.Fprintf(l.w, "%s: %s\n", leg.ID, leg.status())
		}
		if leg.Finished && leg.ran() && !l.shown["end "+leg.ID] {
			l.shown["end "+leg.ID] = true
			fmt.Fprintf(l.w, "%s: %s\n", leg.ID, leg.finishedText())
		}
	}
}

// wait prints what is waited for. What takes less than two looks is not worth a line; what goes on is told again when its numbers have changed.
func (l *lines) wait(text string) {
	same := withoutNumbers(text)
	switch {
	case same != l.waiting:
		l.waiting, l.text, l.pause = same, "", often
	case text == "" || text == l.text || l.text != "" && time.Since(l.told) < l.pause:
	default:
		if l.text != "" {
			l.pause = min(2*l.pause, seldom)
		}
		l.text, l.told = text, time.Now()
		fmt.Fprintf(l.w, "%s …\n", text)
	}
}

// withoutNumbers returns the text without digits and what stands between them, so that texts of one progress are the same.
func withoutNumbers(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r == ',' || r == '.' {
			return -1
		}
		return r
	}, text)
}

func (l *lines) close() {}

// planned says how much a leg is to do.
func (v legView) planned() string {
	if v.Window > 0 {
		return v.Window.String()
	}
	return count(v.Total) + " operations"
}

func (v legView) finishedText() string {
	if v.Verdict == result.Valid {
		return "valid, " + v.Headline
	}
	return v.status()
}

func shorten(text string, n int) string {
	if runes := []rune(text); len(runes) > n {
		return string(runes[:n-1]) + "…"
	}
	return text
}

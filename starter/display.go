package main

import (
	"fmt"
	"io"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/durabench/durabench/bench/result"
)

// legView is what a display shows of one step of a run.
type legView struct {
	ID, Title string
	Done      int64
	Total     int64 // 0 when unknown
	Failed    int64
	Rate      float64 // operations per second
	P99       time.Duration
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
		return &bars{progress: mpb.New(mpb.WithOutput(w), mpb.WithRefreshRate(250*time.Millisecond), mpb.WithWidth(40))}
	}
	return &lines{w: w, shown: map[string]bool{}}
}

// bars is the display for a terminal: a bar per leg.
type bars struct {
	progress *mpb.Progress
	waiting  *mpb.Bar
	text     string
	bars     []*legBar
}

type legBar struct {
	*mpb.Bar
	view     legView
	finished bool
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
	for i, leg := range view.Legs {
		if i == len(b.bars) {
			b.bars = append(b.bars, b.newBar(leg))
		}
		b.bars[i].update(leg)
	}
}

func (b *bars) newBar(leg legView) *legBar {
	bar := &legBar{view: leg}
	bar.Bar = b.progress.AddBar(max(leg.Total, 1),
		mpb.PrependDecorators(decor.Name(leg.Title, decor.WC{W: 12, C: decor.DindentRight})),
		mpb.AppendDecorators(decor.Any(func(decor.Statistics) string { return bar.view.status() })))
	return bar
}

func (b *legBar) update(leg legView) {
	b.view = leg
	if b.finished {
		return
	}
	total := max(leg.Total, 1)
	switch {
	case leg.Finished:
		b.finished = true
		b.SetTotal(total, false)
		if leg.Done >= total {
			b.SetCurrent(total)
		}
		// Total = current ends the bar where it is: a leg that stopped early keeps its short bar.
		b.Abort(false)
	default:
		b.SetTotal(total, false)
		b.SetCurrent(min(leg.Done, total-1))
	}
}

func (b *bars) close() {
	if b.waiting != nil {
		b.waiting.Abort(true)
	}
	for _, bar := range b.bars {
		bar.Abort(false)
	}
	b.progress.Wait()
}

// status is the text beside a leg's bar.
func (v legView) status() string {
	switch {
	case v.Finished && v.Verdict == result.Valid:
		return v.Headline
	case v.Finished:
		return fmt.Sprintf("%s: %s", v.Verdict, shorten(v.Why, 80))
	case v.Running:
		text := fmt.Sprintf("%s/%s  %s/s", count(v.Done), count(v.Total), count(int64(v.Rate)))
		if v.P99 > 0 {
			text += "  p99 " + latency(int64(v.P99))
		}
		if v.Failed > 0 {
			text += fmt.Sprintf("  %s failed", count(v.Failed))
		}
		if eta := v.eta(); eta > 0 {
			text += "  ETA " + eta.String()
		}
		return text
	}
	return ""
}

// eta is the time that the leg will still take at its present rate, in whole seconds; 0 when that cannot be told.
func (v legView) eta() time.Duration {
	if v.Rate <= 0 || v.Total <= v.Done {
		return 0
	}
	return time.Duration(float64(v.Total-v.Done) / v.Rate * float64(time.Second)).Round(time.Second)
}

// lines is the display for files and pipes: a line when something changes, and one every ten seconds in a leg.
type lines struct {
	w       io.Writer
	waiting string // what the last look saw being waited for
	said    bool   // and whether it was printed
	shown   map[string]bool
	last    time.Time
}

func (l *lines) show(view runView) {
	// What takes less than two looks is not worth a line.
	switch {
	case view.Waiting != l.waiting:
		l.waiting, l.said = view.Waiting, false
	case view.Waiting != "" && !l.said:
		l.said = true
		fmt.Fprintf(l.w, "%s …\n", view.Waiting)
	}
	for _, leg := range view.Legs {
		if leg.Running && !l.shown["start "+leg.ID] {
			l.shown["start "+leg.ID] = true
			l.last = time.Now()
			fmt.Fprintf(l.w, "%s: started, %s operations\n", leg.ID, count(leg.Total))
		}
		if leg.Running && time.Since(l.last) >= 10*time.Second {
			l.last = time.Now()
			fmt.Fprintf(l.w, "%s: %s\n", leg.ID, leg.status())
		}
		if leg.Finished && !l.shown["end "+leg.ID] {
			l.shown["end "+leg.ID] = true
			fmt.Fprintf(l.w, "%s: %s\n", leg.ID, leg.finishedText())
		}
	}
}

func (l *lines) close() {}

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

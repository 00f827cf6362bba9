package result

import (
	"fmt"
	"strings"
)

// footnotes returns what the cells leave open: why a leg has its verdict, what happened to it, and why a resource is absent.
func (l *layout) footnotes() []string {
	notes := l.reasons()
	for _, leg := range l.doc.Legs {
		if leg.Attempts > 1 {
			notes = append(notes, "† "+attempts(leg))
		}
	}
	if l.embedded() {
		notes = append(notes, "The database runs inside the agent: CPU, memory and disk are those of both together.")
	}
	notes = append(notes, l.workNotes()...)
	notes = append(notes, l.resourceNotes()...)
	for i := range notes {
		notes[i] = oneLine(notes[i])
	}
	return notes
}

// reasons says why legs have their verdicts, once for all that have the same for the same reason: a run that failed early would say it for
// each leg. A reason that stands in the heading is not repeated.
func (l *layout) reasons() []string {
	type reason struct {
		verdict Verdict
		why     string
	}
	var order []reason
	titles := map[reason][]string{}
	for _, leg := range l.doc.Legs {
		r := reason{leg.Verdict, leg.Why}
		if run := l.doc.Run.Why; run != "" && strings.HasSuffix(r.why, run) {
			r.why = strings.TrimSuffix(strings.TrimSuffix(r.why, run), ": ")
		}
		if r.why == "" {
			continue
		}
		if titles[r] == nil {
			order = append(order, r)
		}
		titles[r] = append(titles[r], leg.Title)
	}
	notes := make([]string, len(order))
	for i, r := range order {
		notes[i] = fmt.Sprintf("%s: %s: %s", someOf(titles[r]), r.verdict, r.why)
	}
	return notes
}

func attempts(leg Leg) string {
	causes := make([]string, len(leg.Interruptions))
	for i, v := range leg.Interruptions {
		causes[i] = fmt.Sprintf("%s at %s", v.Cause, v.At.UTC().Format("2006-01-02 15:04:05 UTC"))
		if v.Note != "" {
			causes[i] += " (" + v.Note + ")"
		}
	}
	return fmt.Sprintf("%s took %d attempts: %s", leg.Title, leg.Attempts, strings.Join(causes, ", "))
}

// resourceNotes says once what was missing in which legs.
func (l *layout) resourceNotes() []string {
	var texts []string
	legs := map[string][]string{}
	add := func(leg Leg, whose, text string) {
		if text == "" {
			return
		}
		text = whose + ": " + text
		if _, known := legs[text]; !known {
			texts = append(texts, text)
		}
		legs[text] = append(legs[text], leg.Title)
	}
	for _, leg := range l.doc.Legs {
		m := leg.Measured
		if m == nil {
			continue
		}
		if !l.embedded() {
			add(leg, "server", m.ServerNote)
			add(leg, "server", m.Server.missing())
		}
		if m.Agent == nil || m.Agent.MemoryKind == "rss" { // other remarks, such as how the agent was set up, explain no cell
			add(leg, "agent", m.AgentNote)
		}
		add(leg, "agent", m.Agent.missing())
	}
	for i, text := range texts {
		texts[i] = fmt.Sprintf("%s (%s)", text, someOf(legs[text]))
	}
	return texts
}

func (u *Usage) missing() string {
	if u == nil || len(u.Missing) == 0 {
		return ""
	}
	return strings.Join(u.Missing, "; ")
}

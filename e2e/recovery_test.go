//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/result"
)

// envRecovery set to "full" kills everything everywhere: each victim and each pair at each moment, on each engine. It takes a quarter of an hour per
// engine on two cores:
//
//	DURABENCH_RECOVERY=full make temporald e2e E2E_TIMEOUT=3h
const envRecovery = "DURABENCH_RECOVERY"

// victims are what is killed: each alone, and each pair.
var victims = [][]victim{
	{workerOf}, {agentOf}, {serverOf}, {temporalOf},
	{workerOf, agentOf}, {workerOf, serverOf}, {workerOf, temporalOf}, {agentOf, serverOf}, {agentOf, temporalOf}, {serverOf, temporalOf},
}

// moments are when it is killed, in the order in which a run comes to them.
var moments = []moment{
	{measuring, "create"}, {uploading, "create"}, {measuring, "read"}, {ended, "read"}, {between, "read"}, {measuring, "update"}, {stored, "update"},
	{measuring, "delete"}, {loading, "delete"}, {uploading, document}, {between, document},
}

// shapes are runs whose legs take a second or more: long enough to be hit, and bound by the processor rather than by whatever disk there is.
var shapes = map[string]shape{
	"sqlite":   {args: []string{"-s", "200k", "-c", "2", "-t", "2"}, embedded: true},
	"redis":    {args: []string{"-s", "150k", "-c", "1", "-t", "2"}, memory: true},
	"postgres": {args: []string{"-s", "40k", "-c", "2", "-t", "2", "--persisted"}},
}

// night is a run to which everything happens.
type night struct {
	engine   string
	rotation int
}

var nightsOfCI = []night{{"redis", 8}, {"postgres", 5}, {"sqlite", 1}}

// shape is a run and what is peculiar to its database.
type shape struct {
	args     []string
	config   string   // a workload file's text; empty for the default
	env      []string // more environment
	embedded bool     // in the agent: there is no server to kill
	memory   bool     // the rows go with the server
}

// Through a night in which everything is killed, the run ends by itself with every leg whole and true to what happened; what was finished is byte for byte
// what it was; nothing is left; and the command that watches lives through all of it.
//
// The table is one of rotations: night n kills victims[(n + 3i) mod 10] at moments[i], so that ten nights kill each at each. CI has three nights, one per
// engine, that meet every moment thrice and all victims and pairs.
func TestRunRecoversFromANightOfKills(t *testing.T) {
	nights := nightsOfCI
	if os.Getenv(envRecovery) == "full" {
		nights = nil
		for rotation := range victims {
			for _, engine := range []string{"redis", "postgres", "sqlite"} {
				nights = append(nights, night{engine, rotation})
			}
		}
	}
	for _, n := range nights {
		t.Run(fmt.Sprintf("%s %d", n.engine, n.rotation), func(t *testing.T) {
			t.Parallel()
			r := launch(t, n.engine, shapes[n.engine])
			for _, b := range blows(n.rotation) {
				r.strike(b)
			}
			doc := r.end()
			r.check(doc)
			r.nothingLeft()
		})
	}
}

// blows are what happens in one night.
func blows(rotation int) []blow {
	var all []blow
	lost := false
	for i, m := range moments {
		b := blow{m, victims[(rotation+3*i)%len(victims)]}
		if m.when == loading && !lost {
			// Rows are loaded again only when an execution was lost.
			all = append(all, blow{moment{measuring, m.of}, []victim{agentOf}})
		}
		lost = m.when == measuring && b.loses()
		all = append(all, b)
	}
	return all
}

// The small set must not lose its coverage when the table changes.
func TestNightsOfCICoverEveryRow(t *testing.T) {
	met := map[string]bool{}
	for _, n := range nightsOfCI {
		for _, b := range blows(n.rotation) {
			met[fmt.Sprint(b.victims)] = true
			met[fmt.Sprint(b.moment)] = true
			if b.when == measuring {
				for _, v := range b.victims {
					met[fmt.Sprint(v, " in a leg")] = true
				}
			}
		}
	}
	for _, pair := range victims {
		if !met[fmt.Sprint(pair)] {
			t.Errorf("no night kills %v", pair)
		}
	}
	for _, m := range moments {
		if !met[fmt.Sprint(m)] {
			t.Errorf("no night strikes at %v", m)
		}
	}
	for _, v := range []victim{workerOf, agentOf, serverOf, temporalOf} {
		if !met[fmt.Sprint(v, " in a leg")] {
			t.Errorf("no night kills the %s in a leg", v)
		}
	}
}

// expected is what must be told of one leg.
type expected struct {
	least, most int            // attempts
	causes      map[string]int // how often each cause, but that of a lost worker, whose loss may go unnoticed
	maybe       map[string]int // how much more often it may be told
}

// expect derives from what was done to a run what its legs must tell of it.
func (r *bystander) expect() map[string]*expected {
	legs := map[string]*expected{}
	for _, leg := range crud {
		legs[leg] = &expected{least: 1, most: 1, causes: map[string]int{}, maybe: map[string]int{}}
	}
	rows := func(leg string, server bool) { // what it does to the rows that an execution of the leg is lost
		e := legs[leg]
		switch {
		case leg == "create": // it makes them
		case leg == "read" && server && r.shape.memory:
			e.causes[dataLost] = 1
		case leg != "read":
			e.causes[dataRebuilt] = 1
			delete(e.causes, dataLost)
		}
	}
	for _, b := range r.struck {
		agent, server := slices.Contains(b.victims, agentOf), slices.Contains(b.victims, serverOf)
		if r.shape.embedded {
			agent, server = agent || server, false
		}
		switch b.when {
		case measuring, loading:
			if !agent && !server {
				continue
			}
			e := legs[b.of]
			e.least, e.most = e.least+1, e.most+1
			if agent {
				e.causes[agentLost]++
			}
			if server {
				e.causes[serverLost]++
			}
			rows(b.of, server)
		default:
			if agent && b.when == ended {
				legs[b.of].maybe[agentLost]++ // when nobody had heard of the leg's end yet
			}
			next := slices.Index(crud, b.of) + 1
			if b.of == document || next == len(crud) {
				continue
			}
			e := legs[crud[next]]
			if server {
				e.causes[serverLost]++
				if r.shape.memory && e.causes[dataRebuilt] == 0 {
					e.causes[dataLost] = 1
				}
			}
			if b.when == between { // it may have begun
				if agent {
					e.maybe[agentLost]++
				}
				if agent || server {
					e.most++
					if crud[next] != "read" {
						e.maybe[dataRebuilt], e.maybe[dataLost] = 1, 1
					}
				}
			}
		}
	}
	return legs
}

// check compares the document with what was done to the run.
func (r *bystander) check(doc *result.Document) {
	r.t.Helper()
	whole(r.t, doc)
	want := r.expect()
	for _, leg := range doc.Legs {
		e := want[leg.ID]
		if e == nil {
			continue
		}
		if leg.Attempts < e.least || leg.Attempts > e.most {
			r.t.Errorf("leg %s took %d attempts, want %d to %d: %+v", leg.ID, leg.Attempts, e.least, e.most, leg.Interruptions)
		}
		told := map[string]int{}
		for _, interruption := range leg.Interruptions {
			told[interruption.Cause]++
			if at := interruption.At; at.Before(doc.Run.Started) || at.After(doc.Run.Finished) {
				r.t.Errorf("leg %s: %+v is dated outside the run", leg.ID, interruption)
			}
		}
		for _, cause := range []string{agentLost, serverLost, dataLost, dataRebuilt} {
			if n := told[cause]; n < e.causes[cause] && e.maybe[dataRebuilt] == 0 || n > e.causes[cause]+e.maybe[cause] {
				r.t.Errorf("leg %s tells %d times of %s, want %d, and at most %d more: %+v", leg.ID, n, cause, e.causes[cause], e.maybe[cause], leg.Interruptions)
			}
			delete(told, cause)
		}
		delete(told, workerLost)
		if len(told) > 0 {
			r.t.Errorf("leg %s tells of %v: %+v", leg.ID, told, leg.Interruptions)
		}
	}
	if r.t.Failed() {
		r.t.Logf("what was done: %v", r.struck)
	}
}

// whole asserts that every leg is valid with its full sample count, and its rows with it, whatever happened.
func whole(t testing.TB, doc *result.Document) {
	t.Helper()
	if doc.Run.Verdict != result.Valid {
		t.Errorf("verdict %q (%s), want valid", doc.Run.Verdict, doc.Run.Why)
	}
	var ids []string
	for _, leg := range doc.Legs {
		ids = append(ids, leg.ID)
		switch m := leg.Measured; {
		case leg.Verdict != result.Valid:
			t.Errorf("leg %s is %s: %s", leg.ID, leg.Verdict, leg.Why)
		case m == nil || m.OK != leg.Planned || m.Failed != 0 || m.Service == nil || m.Service.Count != leg.Planned:
			t.Errorf("leg %s: measured %+v, want all %d operations", leg.ID, m, leg.Planned)
		case m.Checked == 0 || m.Wrong != 0:
			t.Errorf("leg %s: of %d answers compared %d are wrong", leg.ID, m.Checked, m.Wrong)
		case leg.ID != "read" && (m.RowsAfter == nil || m.RowsWanted == nil || *m.RowsAfter != *m.RowsWanted):
			t.Errorf("leg %s: rows after it %v, want %v", leg.ID, m.RowsAfter, m.RowsWanted)
		}
	}
	if strings.Join(ids, " ") != strings.Join(crud, " ") {
		t.Errorf("legs %v, want %v", ids, crud)
	}
}

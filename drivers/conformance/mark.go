package conformance

import (
	"testing"

	"github.com/durabench/durabench/drivers"
)

// testMark keeps texts beside rows: the last one is found again, also by who opens the database anew, and is no row.
func testMark(t *testing.T, h Harness) {
	s := h.open(t, plain(t))
	ctx := t.Context()
	marker := s.database.(drivers.Marker)
	for _, text := range []string{"one", `{"run":"a 'quoted' \"text\" \\ ☃ ; -- $1 %s","rows":12}`, ""} {
		must(t, marker.Mark(ctx, text))
		s.wantMark(text)
	}
	must(t, marker.Mark(ctx, "two"))
	s.count(0)
	must(t, s.caller(0).create(ctx, 1, 0))
	s.count(1)
	// A mark does not keep a run from beginning anew, nor is it in the way of its count.
	must(t, s.database.Prepare(ctx))
	s.count(0)
	must(t, marker.Mark(ctx, "three"))
	must(t, s.caller(0).create(ctx, 1, 0))
	s.count(1)
	s.wantMark("three")
	if !h.Engine.Durable() {
		return
	}
	config := s.config
	s.close()
	s = h.attach(t, config)
	s.wantMark("three")
	s.count(1)
}

func (s *session) wantMark(want string) {
	s.t.Helper()
	got, err := s.database.(drivers.Marker).Marked(s.t.Context())
	must(s.t, err)
	if got != want {
		s.t.Errorf("mark %q, want %q", got, want)
	}
}

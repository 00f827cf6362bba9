package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestFirstErrorStopsTheLeg(t *testing.T) {
	s := &script{slots: 64, do: func(ctx context.Context, op op) error {
		if op.index == 5000 {
			return errRefused
		}
		return sleep(ctx, 2*time.Microsecond)
	}}
	result := s.must(t, Leg{Clients: 8, Samples: 1_000_000})
	if result.Failed != 1 || result.Stopped != StoppedErrors || !result.OverBudget {
		t.Errorf("%d failed, stopped %q, over budget %v", result.Failed, result.Stopped, result.OverBudget)
	}
	// At 500,000 operations a second and worker, a stretch of 1 ms after the error is 4,000 of all workers.
	if result.OK > 5000+8*maxBlock+4000+8 {
		t.Errorf("%d operations succeeded around an error at the 5,000th", result.OK)
	}
}

func TestAllFailingIsNoThroughput(t *testing.T) {
	result := (&script{do: func(context.Context, op) error { return errRefused }}).must(t, Leg{Clients: 4, Samples: 1000, MaxErrorRate: 1})
	want := []ErrorCount{{Class: ClassOther, Count: 1000, Texts: []string{"connection refused"}}}
	if result.OK != 0 || result.Service != nil {
		t.Errorf("%d succeeded", result.OK)
	}
	if diff := cmp.Diff(want, result.Errors); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsAreCountedByClass(t *testing.T) {
	classify := func(err error) string {
		switch {
		case errors.Is(err, errRefused):
			return "connection"
		case strings.Contains(err.Error(), "conflict"):
			return "conflict"
		}
		return ""
	}
	s := &script{do: func(_ context.Context, op op) error {
		switch op.index % 10 {
		case 1, 2:
			return fmt.Errorf("conflict in transaction %d", op.index)
		case 3:
			return fmt.Errorf("read: %w", errRefused)
		case 4:
			if op.index < 20 {
				return errors.New(strings.Repeat("é", 500) + "\xff")
			}
		}
		return nil
	}}
	result := s.must(t, Leg{Samples: 1000, MaxErrorRate: 0.9, Classify: classify})
	want := []ErrorCount{
		{"conflict", 200, []string{"conflict in transaction 1", "conflict in transaction 2", "conflict in transaction 11"}},
		{"connection", 100, []string{"read: connection refused"}},
		{ClassOther, 2, []string{strings.Repeat("é", 299) + "…"}},
	}
	if diff := cmp.Diff(want, result.Errors); diff != "" {
		t.Error(diff)
	}
	if result.OK != 698 || result.Failed != 302 {
		t.Errorf("%d succeeded, %d failed", result.OK, result.Failed)
	}
}

func TestClassesAreBounded(t *testing.T) {
	var f failures
	for i := range 1000 {
		f.add(fmt.Sprintf("class %d", i), errRefused)
	}
	f.add(ClassTimeout, errRefused)
	var result Result
	f.report(&result)
	if len(result.Errors) > maxClasses+len(ownClasses) || result.Errors[0].Class != ClassOther {
		t.Errorf("%d classes, first %q", len(result.Errors), result.Errors[0].Class)
	}
}

func TestShorten(t *testing.T) {
	for name, text := range map[string]string{
		"short":     "connection refused",
		"long":      strings.Repeat("x", 10_000),
		"wide":      strings.Repeat("界", 301),
		"wide, fit": strings.Repeat("界", 300),
		"invalid":   "\xff\xfe" + strings.Repeat("é", 400),
	} {
		t.Run(name, func(t *testing.T) {
			got := shorten(text)
			if !utf8.ValidString(got) || utf8.RuneCountInString(got) > maxTextRunes {
				t.Errorf("%d characters, valid %v", utf8.RuneCountInString(got), utf8.ValidString(got))
			}
			if utf8.ValidString(text) && utf8.RuneCountInString(text) <= maxTextRunes && got != text {
				t.Errorf("changed to %q", got)
			}
		})
	}
}

func TestErrorBudget(t *testing.T) {
	for name, c := range map[string]struct {
		budget        budget
		failed, begun int64
		spent         bool
	}{
		"none allowed, none":                {budget{0, 100, 1}, 0, 50, false},
		"none allowed, one":                 {budget{0, 100, 1}, 1, 50, true},
		"none allowed in a window, one":     {budget{0, 0, 1}, 1, 50, true},
		"all allowed, all":                  {budget{1, 100, 1}, 100, 100, false},
		"bad start":                         {budget{0.01, 100_000, 128}, 128, 128, false},
		"bad start that goes on":            {budget{0.01, 100_000, 128}, 129, 1000, true},
		"bad start in a window":             {budget{0.01, 0, 4}, 10, 10, false},
		"near the rate":                     {budget{0.01, 100_000, 4}, 900, 50_000, false},
		"near the rate in a window":         {budget{0.01, 0, 4}, 900, 50_000, false},
		"twice the rate in a window":        {budget{0.01, 0, 4}, 1001, 50_000, true},
		"every operation in a window":       {budget{0.01, 0, 4}, 11, 11, true},
		"at the rate":                       {budget{0.01, 100_000, 4}, 500, 50_000, false},
		"planned share to the last":         {budget{0.29, 100, 4}, 29, 100, false}, // 0.29 × 100 = 28.999999999999996
		"planned share and one":             {budget{0.29, 100, 200}, 30, 100, true},
		"a small leg's share spent at once": {budget{0.1, 20, 64}, 3, 20, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.budget.spent(c.failed, c.begun); got != c.spent {
				t.Errorf("%d failed of %d begun: spent %v, want %v", c.failed, c.begun, got, c.spent)
			}
		})
	}
}

func TestErrorBudgetIsJudgedAtTheEnd(t *testing.T) {
	failing := func(every uint64) *script {
		return &script{do: func(ctx context.Context, op op) error {
			_ = sleep(ctx, time.Millisecond)
			if op.index%every == 0 {
				return errRefused
			}
			return nil
		}}
	}
	for name, c := range map[string]struct {
		leg     Leg
		every   uint64
		stopped string
		over    bool
	}{
		"under":             {Leg{Samples: 1000, MaxErrorRate: 0.2}, 10, "", false},
		"exactly":           {Leg{Samples: 1000, MaxErrorRate: 0.1}, 10, "", false},
		"over":              {Leg{Samples: 1000, MaxErrorRate: 0.05}, 10, StoppedErrors, true},
		"over at the last":  {Leg{Samples: 11, First: 0, MaxErrorRate: 0.1}, 10, "", true},
		"few, over":         {Leg{Window: 20 * time.Millisecond, Keys: 100, MaxErrorRate: 0.05}, 10, "", true},
		"the last one only": {Leg{Samples: 10, First: 1, MaxErrorRate: 0}, 10, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			result := failing(c.every).must(t, c.leg)
			if result.Stopped != c.stopped || result.OverBudget != c.over {
				t.Errorf("%d failed of %d: stopped %q, over budget %v", result.Failed, result.OK+result.Failed, result.Stopped, result.OverBudget)
			}
		})
	}
}

func TestWrongAnswersAreNoThroughput(t *testing.T) {
	s := &script{do: func(ctx context.Context, op op) error {
		if op.index%10 == 0 {
			return sleep(ctx, time.Second) // slow and wrong: must not be seen in the service times
		}
		return sleep(ctx, time.Millisecond)
	}, check: func(op op) error {
		if op.index%10 == 0 {
			return fmt.Errorf("read: %w", &Mismatch{Index: op.index, Column: "name", Want: "ann", Got: "bob"})
		}
		return nil
	}}
	result := s.must(t, Leg{Samples: 100, Verify: VerifyAll, MaxErrorRate: 0.5})
	if result.OK != 90 || result.Failed != 10 || result.Wrong != 10 || result.Checked != 100 || result.Stopped != "" {
		t.Errorf("%d succeeded, %d failed, %d wrong of %d, stopped %q", result.OK, result.Failed, result.Wrong, result.Checked, result.Stopped)
	}
	if top, _ := result.Service.Max(); top != 1e6 {
		t.Errorf("maximum %v", time.Duration(top))
	}
	want := []Mismatch{}
	for i := range uint64(5) {
		want = append(want, Mismatch{Index: i * 10, Column: "name", Want: "ann", Got: "bob"})
	}
	if diff := cmp.Diff(want, result.Examples); diff != "" {
		t.Error(diff)
	}
	if e := result.Errors; len(e) != 1 || e[0].Class != ClassWrong || e[0].Count != 10 ||
		e[0].Texts[0] != "wrong answer for row 0, column name: want ann, got bob" {
		t.Errorf("%+v", e)
	}
}

func TestFirstWrongAnswerStopsALegThatAllowsNoErrors(t *testing.T) {
	s := &script{check: func(op op) error { return &Mismatch{Index: op.index, Want: "row 0", Got: "row 1"} }}
	result := s.must(t, Leg{Samples: 1000})
	if result.OK != 0 || result.Wrong != 1 || result.Stopped != StoppedErrors || !result.OverBudget {
		t.Errorf("%+v", result)
	}
}

// An answer that cannot be compared is not known to be wrong, and not known to be right either.
func TestAnswerThatCannotBeCompared(t *testing.T) {
	s := &script{check: func(op op) error { return errors.New("not JSON") }}
	result := s.must(t, Leg{Samples: 10, Verify: VerifyAll, MaxErrorRate: 1})
	if result.OK != 0 || result.Failed != 10 || result.Wrong != 0 || result.Checked != 0 {
		t.Errorf("%+v", result)
	}
	if result.Errors[0].Texts[0] != "check the answer: not JSON" {
		t.Errorf("%+v", result.Errors)
	}
}

func TestMismatchTells(t *testing.T) {
	for want, m := range map[string]Mismatch{
		"wrong answer for row 3, column age: want 4, got 5": {Index: 3, Column: "age", Want: "4", Got: "5"},
		"wrong answer for row 3: want row 3, got row 4":     {Index: 3, Want: "row 3", Got: "row 4"},
		"wrong answer, rows: want 4, got 5":                 {Whole: true, Column: "rows", Want: "4", Got: "5"},
	} {
		if got := m.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A failure does not use up the check of an answer: the first answer that came is checked.
func TestFirstAnswerIsCheckedAfterFailures(t *testing.T) {
	s := &script{slots: 4, do: func(_ context.Context, op op) error {
		if op.index < 3 {
			return errRefused
		}
		return nil
	}, check: func(op op) error {
		if op.index == 3 {
			return &Mismatch{Index: 3, Want: "a", Got: "b"}
		}
		return nil
	}}
	result := s.must(t, Leg{Samples: 50, MaxErrorRate: 1})
	if result.Wrong != 1 || result.Checked != 1 {
		t.Errorf("%d wrong of %d checked", result.Wrong, result.Checked)
	}
}

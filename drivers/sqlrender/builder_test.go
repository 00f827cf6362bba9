package sqlrender

import (
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/query"
)

func TestAfter(t *testing.T) {
	for prefix, want := range map[string]string{
		"a": "b", "az": "a{", "a\x7f": "a\u0080", "\ud7ff": "\ue000", "a\U0010ffff": "b", "é": "ê", "a\x00": "a\x01",
	} {
		next, bounded := After(prefix)
		if next != want || !bounded {
			t.Errorf("after %q comes %q (bounded %t), want %q", prefix, next, bounded, want)
		}
		if prefix+"\U0010ffff" >= next {
			t.Errorf("%q begins with %q and is not below %q", prefix+"\U0010ffff", prefix, next)
		}
	}
	for _, prefix := range []string{"", "\U0010ffff", "\U0010ffff\U0010ffff"} {
		if next, bounded := After(prefix); bounded {
			t.Errorf("after %q comes %q, want none", prefix, next)
		}
	}
}

func TestIndexName(t *testing.T) {
	if got := IndexName(query.Index{Name: "by_age"}); got != "durabench_by_age" {
		t.Errorf("got %q", got)
	}
	long := strings.Repeat("x", 100)
	one, other := IndexName(query.Index{Name: long + "1"}), IndexName(query.Index{Name: long + "2"})
	if len(one) != longestName || one == other {
		t.Errorf("long names become %q and %q", one, other)
	}
}

package drivers

import (
	"errors"
	"slices"
	"testing"
)

func TestCheckOptions(t *testing.T) {
	e := embedded("pg")
	e.Options = []Option{
		{Name: "connections", Values: []string{"client", "thread"}, Help: "x"},
		{Name: "cache", Values: []string{"64MiB"}, Help: "x", Check: func(value string) error {
			if value == "" {
				return errors.New("a size such as 64MiB")
			}
			return nil
		}},
	}
	for _, test := range []struct {
		name    string
		options map[string]string
		want    []string
	}{
		{"none", nil, nil},
		{"good", map[string]string{"connections": "thread", "cache": "1GiB"}, nil},
		{"value", map[string]string{"connections": "both"}, []string{`engine option connections = "both": allowed are "client", "thread"`}},
		{"checked value", map[string]string{"cache": ""}, []string{`engine option cache = "": a size such as 64MiB`}},
		{"typing error", map[string]string{"conections": "thread"}, []string{"engine option conections: engine pg has no such option; did you mean connections?"}},
		{"far off", map[string]string{"zzz": "1"}, []string{"engine option zzz: engine pg has no such option; it has connections, cache"}},
		{"all at once, sorted", map[string]string{"connections": "x", "cach": "1"}, []string{
			"engine option cach: engine pg has no such option; did you mean cache?", `engine option connections = "x": allowed are "client", "thread"`,
		}},
	} {
		if got := e.CheckOptions(test.options); !slices.Equal(got, test.want) {
			t.Errorf("%s: problems %q, want %q", test.name, got, test.want)
		}
	}
	if got := embedded("map").CheckOptions(map[string]string{"x": "1"}); !slices.Equal(got, []string{"engine option x: engine map has no options"}) {
		t.Errorf("problems %q", got)
	}
}

func TestOptionHasADefault(t *testing.T) {
	e := embedded("pg")
	e.Options = []Option{{Name: "connections", Values: []string{"client", "thread"}, Help: "x"}}
	if got := e.Option(nil, "connections"); got != "client" {
		t.Errorf("default %q, want the first value", got)
	}
	if got := e.Option(map[string]string{"connections": "thread"}, "connections"); got != "thread" {
		t.Errorf("value %q", got)
	}
	if text := panicText(func() { e.Option(nil, "odd") }); text == "" {
		t.Error("an option that is not declared does not panic")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"dry", "map", "postgres", "redis", "sqlite"}
	for name, want := range map[string]string{"postgre": "postgres", "Redis": "redis", "sqlit": "sqlite", "mongodb": "", "mpa": "map", "": ""} {
		if got := Nearest(name, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", name, got, want)
		}
	}
}

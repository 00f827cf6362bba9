package spec

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"
	"github.com/spf13/pflag"
	"pgregory.net/rapid"
)

func TestDurationReadsAndWritesUnits(t *testing.T) {
	for _, test := range []struct {
		text    string
		want    time.Duration
		written string
	}{
		{"30s", 30 * time.Second, "30s"},
		{"250ms", 250 * time.Millisecond, "250ms"},
		// What was given in seconds is shown in the largest unit that fits, without zero parts.
		{"1800s", 30 * time.Minute, "30m"},
		{"7200s", 2 * time.Hour, "2h"},
		{"1h0m5s", time.Hour + 5*time.Second, "1h0m5s"},
		{"10m", 10 * time.Minute, "10m"},
		{"0s", 0, "0s"},
		{"-3s", -3 * time.Second, "-3s"},
	} {
		d, err := ParseDuration(test.text)
		if err != nil || time.Duration(d) != test.want || d.String() != test.written {
			t.Errorf("%q is %s (%v), want %s", test.text, d, err, test.written)
		}
	}
}

func TestDurationRefusesBareNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"1800":  "1800 needs a unit, e.g. 1800s",
		"1_800": "1_800 needs a unit, e.g. 1800s",
		"1.5":   "1.5 needs a unit, e.g. 1.5s",
		"0":     "0 needs a unit, e.g. 0s",
		"":      `"" is not a duration, e.g. 250ms, 30s or 1h30m`,
		"soon":  `"soon" is not a duration, e.g. 250ms, 30s or 1h30m`,
		".":     `"." is not a duration, e.g. 250ms, 30s or 1h30m`,
	} {
		if _, err := ParseDuration(text); err == nil || err.Error() != want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
	var d Duration
	if err := json.Unmarshal([]byte("30"), &d); err == nil || !strings.Contains(err.Error(), "needs a unit, e.g. 30s") {
		t.Errorf("JSON number: error %v", err)
	}
}

func TestDurationSurvivesText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64().Draw(t, "d"))
		var back Duration
		if err := back.Set(d.String()); err != nil || back != d {
			t.Fatalf("%s came back as %s (%v)", d, back, err)
		}
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &back); err != nil || back != d {
			t.Fatalf("%s came back from JSON as %s (%v)", text, back, err)
		}
	})
}

// What packages encode as text and what flags read goes through the same door.
func TestDurationIsTextAndFlag(t *testing.T) {
	set := pflag.NewFlagSet("x", pflag.ContinueOnError)
	d := Duration(time.Minute)
	set.Var(&d, "wait", "how long")
	if usage := set.FlagUsages(); !strings.Contains(usage, "--wait duration") || !strings.Contains(usage, "default 1m") {
		t.Errorf("usage is %s", usage)
	}
	if err := set.Parse([]string{"--wait", "5"}); err == nil || !strings.Contains(err.Error(), "5 needs a unit, e.g. 5s") {
		t.Errorf("error %v", err)
	}
	if err := set.Parse([]string{"--wait", "5s"}); err != nil || d != Duration(5*time.Second) {
		t.Errorf("%s (%v)", d, err)
	}
	var table struct{ Wait Duration }
	if err := toml.Unmarshal([]byte(`wait = "90s"`), &table); err != nil || table.Wait != Duration(90*time.Second) {
		t.Errorf("%s (%v)", table.Wait, err)
	}
	if err := json.Unmarshal([]byte("null"), &d); err != nil || d != Duration(5*time.Second) {
		t.Errorf("null made it %s (%v)", d, err)
	}
}

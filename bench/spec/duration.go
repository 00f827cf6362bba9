package spec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Duration is a time.Duration that is written as text with a unit, e.g. "30s". A bare number is refused, because readers of a spec
// would have to guess its unit.
type Duration time.Duration

// ParseDuration reads a duration with a unit: "250ms", "30s", "1h30m".
func ParseDuration(text string) (Duration, error) {
	if strings.ContainsAny(text, "0123456789") && strings.Trim(text, "+-0123456789._") == "" {
		return 0, fmt.Errorf("%s needs a unit, e.g. %ss", text, strings.ReplaceAll(text, "_", ""))
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration, e.g. 250ms, 30s or 1h30m", text)
	}
	return Duration(d), nil
}

// String returns the duration with its unit and without zero parts: "30s", "1h30m".
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalText writes the duration as String does, for JSON and TOML.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error { return d.Set(string(text)) }

// UnmarshalJSON reads a JSON string; a JSON number is refused with the reason.
func (d *Duration) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if len(data) == 0 || data[0] != '"' {
		return d.Set(string(data))
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return d.Set(text)
}

// Set reads what ParseDuration reads; with String and Type it makes a Duration a flag's value.
func (d *Duration) Set(text string) error {
	parsed, err := ParseDuration(text)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}

// Type names the flag's type in help texts.
func (d *Duration) Type() string { return "duration" }

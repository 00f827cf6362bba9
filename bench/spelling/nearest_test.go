package spelling

import "testing"

func TestNearestFindsWhatWasMeant(t *testing.T) {
	names := []string{"threads", "clients", "data_dir", "operation_timeout", "max_error_rate", "sync", "key", "seed"}
	for text, want := range map[string]string{
		"thread":           "threads",
		"Threads":          "threads",
		"cleints":          "clients",
		"data-dir":         "data_dir",
		"operation":        "operation_timeout", // the beginning of a long name is enough
		"max_eror_rate":    "max_error_rate",
		"synk":             "sync",
		"sink":             "", // two edits in four letters could be anything
		"colour":           "",
		"x":                "",
		"":                 "",
		"operationtimeout": "operation_timeout",
	} {
		if got := Nearest(text, names); got != want {
			t.Errorf("nearest to %q is %q, want %q", text, got, want)
		}
	}
	// Of two that are equally near, the first in order: the message must not change from run to run.
	if got := Nearest("mapx", []string{"mapz", "mapa"}); got != "mapa" {
		t.Errorf("nearest to mapx is %q, want mapa", got)
	}
}

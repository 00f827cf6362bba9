package result

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/durabench/durabench/bench/wholefile"
)

// Bytes validates the document and returns its canonical JSON: indented, properties in the order of the Go fields, times in UTC, empty
// lists as []. The same document always gives the same bytes.
func (d *Document) Bytes() ([]byte, error) {
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("result of run %s is not written, it contradicts itself: %w", d.Run.ID, err)
	}
	return canonical(d.normal())
}

// Encode validates the document and writes its canonical JSON.
func (d *Document) Encode(w io.Writer) error {
	text, err := d.Bytes()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// Write validates the document and writes its canonical JSON to a file, all or nothing, flushed to the device. A file that was there
// is replaced.
func (d *Document) Write(path string) error {
	text, err := d.Bytes()
	if err != nil {
		return err
	}
	if err := wholefile.Write(path, text, 0o644); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Bytes validates the leg and returns its canonical JSON.
func (l *Leg) Bytes() ([]byte, error) {
	if err := l.Validate(); err != nil {
		return nil, fmt.Errorf("leg %s is not written, it contradicts itself: %w", l.ID, err)
	}
	return canonical(l.normal())
}

func canonical(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return text.Bytes(), nil
}

// normal returns a copy whose JSON is canonical. What it does not change it shares.
func (d *Document) normal() *Document {
	n := *d
	n.Run.Started, n.Run.Finished = n.Run.Started.UTC(), n.Run.Finished.UTC()
	n.Engine.Settings, n.Engine.Profile = present(n.Engine.Settings), present(n.Engine.Profile)
	if d.Isolation != nil {
		isolation := *d.Isolation
		isolation.Steps = present(isolation.Steps)
		n.Isolation = &isolation
	}
	n.Legs = make([]Leg, len(d.Legs))
	for i := range d.Legs {
		n.Legs[i] = *d.Legs[i].normal()
	}
	return &n
}

func (l *Leg) normal() *Leg {
	n := *l
	n.Interruptions = append([]Interruption(nil), l.Interruptions...)
	for i := range n.Interruptions {
		n.Interruptions[i].At = n.Interruptions[i].At.UTC()
	}
	if l.Measured != nil {
		m := *l.Measured
		m.Started = m.Started.UTC()
		m.Intervals = present(m.Intervals)
		n.Measured = &m
	}
	return &n
}

// present returns a list that encodes as [] when it is empty, not as null.
func present[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

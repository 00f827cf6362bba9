package result

import (
	"encoding/json"
	"io"
)

// Bytes validates the document and returns its canonical JSON.
func (d *Document) Bytes() ([]byte, error) { panic("not yet") }

// Encode validates the document and writes its canonical JSON.
func (d *Document) Encode(w io.Writer) error { panic("not yet") }

// Write validates the document and writes it to a file, atomically and flushed to the device.
func (d *Document) Write(path string) error { panic("not yet") }

// Read reads a document strictly and validates it.
func Read(r io.Reader) (*Document, error) { panic("not yet") }

// Decode reads a document strictly and validates it.
func Decode(data []byte) (*Document, error) { panic("not yet") }

// Validate reports every problem of the document at once.
func (d *Document) Validate() error { panic("not yet") }

// Bytes validates the leg and returns its canonical JSON.
func (l *Leg) Bytes() ([]byte, error) { panic("not yet") }

// DecodeLeg reads a leg strictly and validates it.
func DecodeLeg(data []byte) (*Leg, error) { panic("not yet") }

// Schema returns the JSON Schema of the document.
func Schema() []byte { panic("not yet") }

// Digest returns the SHA-256 of a JSON value's canonical form, in hex.
func Digest(raw json.RawMessage) (string, error) { panic("not yet") }

// TableOptions says how a table is laid out.
type TableOptions struct {
	Width int  // columns of the terminal; 0 means no limit
	Color bool // colour verdicts with ANSI escapes
}

// WriteTable writes the document's legs as a table for people.
func WriteTable(w io.Writer, d *Document, o TableOptions) error { panic("not yet") }

// WriteCSV writes one row per leg, RFC 4180, raw numbers with units in the header.
func WriteCSV(w io.Writer, d *Document) error { panic("not yet") }

// WriteMarkdown writes the table as Markdown.
func WriteMarkdown(w io.Writer, d *Document) error { panic("not yet") }

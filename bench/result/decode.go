package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxDocument is the largest document that is read, in bytes. A run of hours with hundreds of legs is far below it.
const maxDocument = 1 << 30

// Read reads one document to the end of r. It is strict: unknown properties, a newer format and numbers that contradict each other are
// errors.
func Read(r io.Reader) (*Document, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read result document: %w", err)
	}
	if len(text) > maxDocument {
		return nil, fmt.Errorf("read result document: longer than %d bytes", maxDocument)
	}
	return Decode(text)
}

// ReadFile reads the document in a file, as Read does.
func ReadFile(path string) (*Document, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read result document: %w", err)
	}
	defer file.Close()
	d, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return d, nil
}

// Decode reads one document, as Read does.
func Decode(text []byte) (*Document, error) {
	if err := readable(text); err != nil {
		return nil, err
	}
	d, err := strict[Document](compiled().document, text)
	if err != nil {
		return nil, fmt.Errorf("read result document: %w", err)
	}
	// As they were before they were indented, so that what was written and what is read are the same value.
	for _, raw := range []*json.RawMessage{&d.Spec, &d.Plan, &d.Sample} {
		var compact bytes.Buffer
		if len(*raw) == 0 {
			continue
		}
		if err := json.Compact(&compact, *raw); err != nil {
			return nil, fmt.Errorf("read result document: %w", err)
		}
		*raw = compact.Bytes()
	}
	if string(d.Sample) == "null" {
		d.Sample = nil
	}
	if err := errors.Join(d.contradictions()...); err != nil {
		return nil, fmt.Errorf("read result document of run %s, which contradicts itself: %w", d.Run.ID, err)
	}
	return d, nil
}

// DecodeLeg reads one leg, as strictly as Decode.
func DecodeLeg(text []byte) (*Leg, error) {
	l, err := strict[Leg](compiled().leg, text)
	if err != nil {
		return nil, fmt.Errorf("read leg: %w", err)
	}
	if err := errors.Join(l.contradictions("")...); err != nil {
		return nil, fmt.Errorf("read leg %s, which contradicts itself: %w", l.ID, err)
	}
	return l, nil
}

// readable refuses what is no document and what is of a format that this build does not know, before anything is said about details
// that follow from it.
func readable(text []byte) error {
	var head struct {
		Schema *int `json:"schema"`
	}
	switch err := json.Unmarshal(text, &head); {
	case err != nil:
		return fmt.Errorf("read result document: %w", syntaxError(text, err))
	case head.Schema == nil:
		return errors.New(`read result document: it has no "schema" version, so it is not a durabench result`)
	case *head.Schema > SchemaVersion:
		return fmt.Errorf("read result document: its format is version %d and this build of durabench knows up to %d: use the build that wrote it, or a later one",
			*head.Schema, SchemaVersion)
	case *head.Schema < 1:
		return fmt.Errorf("read result document: format version %d does not exist", *head.Schema)
	}
	return nil
}

// strict decodes text, which must be one JSON value that conforms to the schema. The schema is applied to the text itself, because the
// Go decoder overlooks a wrong case in names and missing properties.
func strict[T any](schema *jsonschema.Schema, text []byte) (*T, error) {
	if err := errors.Join(conform(schema, text)...); err != nil {
		return nil, err
	}
	value := new(T)
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(value); err != nil {
		return nil, syntaxError(text, err)
	}
	if err := unambiguous(text); err != nil {
		return nil, err
	}
	return value, nil
}

// unambiguous refuses objects that name a property twice: readers differ in which of the two they take.
func unambiguous(text []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	type level struct {
		object bool
		name   bool // the next token is a property's name
		seen   map[string]bool
	}
	var stack []level
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return syntaxError(text, err)
		}
		if top := len(stack) - 1; top >= 0 && stack[top].object {
			if name, ok := token.(string); ok && stack[top].name {
				if stack[top].seen[name] {
					return fmt.Errorf("line %d: property %q is there twice", 1+bytes.Count(text[:decoder.InputOffset()], []byte("\n")), name)
				}
				stack[top].seen[name] = true
				stack[top].name = false
				continue
			}
			stack[top].name = true
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, level{object: true, name: true, seen: map[string]bool{}})
		case json.Delim('['):
			stack = append(stack, level{})
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:len(stack)-1]
		}
	}
}

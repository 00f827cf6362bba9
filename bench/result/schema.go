package result

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

//go:embed schema.json
var schemaJSON []byte

// Schema returns the JSON Schema (draft 2020-12) that every document satisfies. It says what a document looks like; Validate also knows
// what its numbers must agree on.
func Schema() []byte { return bytes.Clone(schemaJSON) }

// schemas holds the compiled schema of a document and of one leg.
type schemas struct{ document, leg *jsonschema.Schema }

// compiled is made on first use: most programs that link this package never validate anything.
var compiled = sync.OnceValue(func() schemas {
	const url = "schema.json"
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(schemaJSON))
	if err != nil {
		panic(fmt.Sprintf("parse the embedded result schema: %v", err))
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(url, parsed); err != nil {
		panic(fmt.Sprintf("load the embedded result schema: %v", err))
	}
	return schemas{document: compiler.MustCompile(url), leg: compiler.MustCompile(url + "#/$defs/leg")}
})

// conform returns every place in which a JSON text differs from a schema, each as "path: problem".
func conform(schema *jsonschema.Schema, text []byte) []error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return []error{syntaxError(text, err)}
	}
	var invalid *jsonschema.ValidationError
	switch err := schema.Validate(value); {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return leaves(invalid, nil)
	default:
		return []error{err}
	}
}

// leaves appends the innermost problems below e, which are the ones that name a place.
func leaves(e *jsonschema.ValidationError, found []error) []error {
	if len(e.Causes) == 0 {
		return append(found, fmt.Errorf("%s: %s", place(e.InstanceLocation), e.ErrorKind.LocalizedString(message.NewPrinter(language.English))))
	}
	for _, cause := range e.Causes {
		if _, alternative := e.ErrorKind.(*kind.AnyOf); alternative && len(e.Causes) > 1 && wantsNull(cause) {
			continue // "or null" is the other way to be right: what is wrong with the object is the news
		}
		found = leaves(cause, found)
	}
	return found
}

func wantsNull(e *jsonschema.ValidationError) bool {
	t, ok := e.ErrorKind.(*kind.Type)
	return ok && len(t.Want) == 1 && t.Want[0] == "null"
}

// place writes a path as messages show it, e.g. "legs/2/measured/ok".
func place(path []string) string {
	if len(path) == 0 {
		return "document"
	}
	return strings.Join(path, "/")
}

// syntaxError adds the line to an error of the JSON decoder.
func syntaxError(text []byte, err error) error {
	var offset int64
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		offset = syntax.Offset
	} else if mistyped := (*json.UnmarshalTypeError)(nil); errors.As(err, &mistyped) {
		offset = mistyped.Offset
	} else {
		return err
	}
	line := 1 + bytes.Count(text[:min(int(offset), len(text))], []byte("\n"))
	return fmt.Errorf("line %d: %w", line, err)
}

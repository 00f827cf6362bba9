package query

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// MongoDB is the dialect of WhereDocument and OrderDocument.
const MongoDB = "mongodb"

// Dialects are the names of the engines' own words in crud-bench's files. All but MongoDB are the keys of Where and Order.
var Dialects = []string{"sql", "postgres", "sqlite", "mysql", "neo4j", "arangodb", "surrealdb", MongoDB}

// WhereDialects returns the dialects in which there is a condition.
func (r *Raw) WhereDialects() []string { return dialects(r.Where, r.WhereDocument) }

// OrderDialects returns the dialects in which there is an order.
func (r *Raw) OrderDialects() []string { return dialects(r.Order, r.OrderDocument) }

func dialects(texts map[string]string, document map[string]any) []string {
	var given []string
	for _, name := range Dialects {
		if texts[name] != "" || name == MongoDB && len(document) > 0 {
			given = append(given, name)
		}
	}
	return given
}

// UnmarshalJSON reads what encoding/json writes. Whole numbers in documents stay whole numbers (int64), as they were in TOML: to a database
// that has both kinds, 21 and 21.0 are not the same literal.
func (r *Raw) UnmarshalJSON(data []byte) error {
	type plain Raw
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode((*plain)(r)); err != nil {
		return fmt.Errorf("decode a raw query: %w", err)
	}
	for _, document := range []map[string]any{r.WhereDocument, r.OrderDocument} {
		for key, value := range document {
			document[key] = wholeNumbers(value)
		}
	}
	return nil
}

// wholeNumbers makes int64 and float64 of the numbers in a decoded JSON value.
func wholeNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64() // a number that is too large comes out infinite, as TOML's would
		return f
	case map[string]any:
		for key, element := range v {
			v[key] = wholeNumbers(element)
		}
	case []any:
		for i, element := range v {
			v[i] = wholeNumbers(element)
		}
	}
	return value
}

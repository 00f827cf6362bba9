package result

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// schemaNode is the part of JSON Schema that schema.json uses.
type schemaNode struct {
	Schema               string                `json:"$schema"`
	Ref                  string                `json:"$ref"`
	Description          string                `json:"description"`
	Type                 any                   `json:"type"`
	Format               string                `json:"format"`
	Const                any                   `json:"const"`
	Enum                 []string              `json:"enum"`
	AnyOf                []schemaNode          `json:"anyOf"`
	Required             []string              `json:"required"`
	Properties           map[string]schemaNode `json:"properties"`
	AdditionalProperties *bool                 `json:"additionalProperties"`
	Items                *schemaNode           `json:"items"`
	Defs                 map[string]schemaNode `json:"$defs"`
}

func TestSchemaAndGoTypesAgree(t *testing.T) {
	var root schemaNode
	if err := json.Unmarshal(Schema(), &root); err != nil {
		t.Fatal(err)
	}
	if root.Schema != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema is %q", root.Schema)
	}
	if version, _ := root.Properties["schema"].Const.(float64); version != SchemaVersion {
		t.Errorf("the schema is of version %v, the Go types of %d", root.Properties["schema"].Const, SchemaVersion)
	}
	seen := map[string]bool{"verdict": true}
	compareObject(t, root, root, reflect.TypeFor[Document](), "document", seen)
	for name := range root.Defs {
		if !seen[name] {
			t.Errorf("$defs/%s is used by no Go type", name)
		}
	}
	verdicts := []Verdict{Valid, GeneratorLimited, Overloaded, Failed, Invalid, Unverified, Interrupted, Unsupported, Skipped, NotRun}
	if !slices.EqualFunc(root.Defs["verdict"].Enum, verdicts, func(a string, b Verdict) bool { return a == string(b) }) {
		t.Errorf("the schema's verdicts are %q", root.Defs["verdict"].Enum)
	}
}

// compareObject compares an object of the schema with the Go struct that it describes, in both directions.
func compareObject(t *testing.T, root, node schemaNode, typ reflect.Type, at string, seen map[string]bool) {
	if node.AdditionalProperties == nil || *node.AdditionalProperties {
		t.Errorf("%s allows additional properties", at)
	}
	fields := map[string]bool{}
	for i := range typ.NumField() {
		field := typ.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = true
		at := at + "/" + name
		property, ok := node.Properties[name]
		if !ok {
			t.Errorf("%s: Go field %s.%s is not in the schema", at, typ.Name(), field.Name)
			continue
		}
		if optional := strings.Contains(options, "omitempty"); optional == slices.Contains(node.Required, name) {
			t.Errorf("%s: may be left out in Go: %t; required in the schema: %t", at, optional, !optional)
		}
		if property.Description == "" && property.Ref == "" {
			t.Errorf("%s has no description", at)
		}
		compareValue(t, root, property, field.Type, strings.Contains(options, "string"), at, seen)
	}
	for name := range node.Properties {
		if !fields[name] {
			t.Errorf("%s/%s is not a field of Go's %s", at, name, typ.Name())
		}
	}
}

func compareValue(t *testing.T, root, node schemaNode, typ reflect.Type, asString bool, at string, seen map[string]bool) {
	nullable := typ.Kind() == reflect.Pointer
	if nullable {
		typ = typ.Elem()
	}
	if len(node.AnyOf) == 2 && node.AnyOf[1].Type == "null" { // an object or null
		if !nullable {
			t.Errorf("%s may be null, but Go's %s cannot", at, typ)
		}
		node, nullable = node.AnyOf[0], false
	}
	var types []string
	switch v := node.Type.(type) {
	case string:
		types = []string{v}
	case []any:
		for _, one := range v {
			types = append(types, one.(string))
		}
	}
	want := map[reflect.Kind]string{
		reflect.Bool: "boolean", reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer", reflect.Float64: "number",
		reflect.String: "string", reflect.Slice: "array",
	}[typ.Kind()]
	switch {
	case typ == reflect.TypeFor[json.RawMessage]():
		if !slices.Contains(types, "object") {
			t.Errorf("%s is %v, want an object", at, types)
		}
		return
	case typ == reflect.TypeFor[Verdict]():
		if node.Ref != "#/$defs/verdict" {
			t.Errorf("%s is not a verdict", at)
		}
		return
	case typ == reflect.TypeFor[time.Time]():
		if node.Format != "date-time" {
			t.Errorf("%s is no date-time", at)
		}
		return
	case typ.Kind() == reflect.Struct:
		name := strings.ToLower(typ.Name()[:1]) + typ.Name()[1:]
		if typ.Name() == "GC" {
			name = "gc"
		}
		if node.Ref != "#/$defs/"+name {
			t.Errorf("%s refers to %q, want $defs/%s", at, node.Ref, name)
			return
		}
		if !seen[name] {
			seen[name] = true
			compareObject(t, root, root.Defs[name], typ, name, seen)
		}
		return
	case asString:
		want = "string"
	}
	wanted := []string{want}
	if nullable {
		wanted = append(wanted, "null")
	}
	if node.Const == nil && !slices.Equal(types, wanted) {
		t.Errorf("%s is %v in the schema, want %v for Go's %s", at, types, wanted, typ)
	}
	if typ.Kind() == reflect.Slice {
		compareValue(t, root, *node.Items, typ.Elem(), false, at+"/items", seen)
	}
}

// A caller that changes what Schema returned must not change what documents are checked against.
func TestSchemaIsACopy(t *testing.T) {
	clear(Schema())
	if Schema()[0] != '{' {
		t.Error("the embedded schema was changed")
	}
}

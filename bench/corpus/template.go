package corpus

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Field is a column of a row, a member of an object or an element of an array.
type Field struct {
	Name   string  // of a column or member; empty for an element
	Kind   Kind    // of its values
	Elems  []Field // an object's members sorted by name, or an array's elements
	Dim    int     // components of a Vector
	MaxLen int     // the most bytes a String or Bytes value can have; 0 for other kinds

	path uint64    // names the random stream
	gen  generator // makes scalars and vectors; nil for objects and arrays
	expr string    // canonical expression of gen
}

// Template is the shape of every row of a corpus. It is immutable.
type Template struct {
	columns   []Field
	clustered []*clusteredGen // by slot
	data      []*dataGen      // by slot
	canonical string
}

// Columns returns the columns in the order of Row.Columns: those of the value table sorted by name, and the seal last. Not to be modified.
func (t *Template) Columns() []Field { return t.columns }

// Canonical returns the normal form of the value table, as JSON with sorted members: templates with the same one make the same rows, however
// they were spelled. ParseTemplate of the decoded text gives the template again.
func (t *Template) Canonical() string { return t.canonical }

const (
	// maxColumnName is the length in bytes that PostgreSQL cuts a column's name to.
	maxColumnName = 63
	// maxDepth bounds nesting, so that no input exhausts the stack.
	maxDepth = 32
)

// FieldError is a problem with one entry of the value table.
type FieldError struct {
	Path string // e.g. "geography.code" or "tags[1]"; empty for the table itself. Names that TOML would quote are quoted.
	Expr string // the expression as written; empty when the problem is not in one
	Msg  string // what is wrong and what would be right
}

// Error returns the path, the expression and the message.
func (e *FieldError) Error() string {
	var b strings.Builder
	b.WriteString("value")
	if e.Path != "" {
		b.WriteString("." + e.Path)
	}
	if e.Expr != "" {
		b.WriteString(" = " + strconv.Quote(e.Expr))
	}
	return b.String() + ": " + e.Msg
}

// ParseTemplate reads a [value] table as a TOML decoder gives it: a string is an expression, []any an array of fixed length and
// map[string]any an object. The error joins a *FieldError for every problem, sorted by path.
//
// Expressions are those of crud-bench. They are lower-cased before they are read, labels and dictionary words included
// ("London" is stored as "london"), because the conditions in crud-bench's workload files count on it. All ranges are half-open,
// A ≤ x < B, and choices are uniform:
//
//	string:N  string:A..B           characters of A-Z a-z 0-9, so many
//	text:N  text:A..B               words of 2 to 9 such characters joined by single spaces, until it has that many bytes or more
//	words:N;w1,w2  words:A..B;w1,w2 words of the dictionary joined by single spaces, until it has that many bytes or more
//	int  int:A..B                   whole numbers of 64 bits; without a range those of 32 bits except the largest
//	float  float:A..B               numbers that a float32 holds; without a range any finite one, so nearly all are huge
//	decimal  decimal:A..B           numbers with four decimal places; without a range 0..1000000
//	bytes:N  bytes:A..B             bytes, so many
//	bool                            either
//	uuid                            version 4
//	datetime                        whole seconds, 1970-01-01 to 2030-12-31, UTC
//	string_enum:a,b,b               one of the labels, which may repeat to weigh more; also int_enum, float_enum, decimal_enum
//	vector:DIM  vector:DIM:A..B     float32 components; without a range -1..1
//	cluster:COLUMN                  the number, 0..N, of the centre that the clustered vector in that column is around
//	vector:DIM:clustered:N[:SIGMA]  unit vectors around N centres, SIGMA (default 0.35) being the length of what is added to a centre
//	vector:DIM:data:NAME            the vectors of the data set of that name (see Data)
//
// A cell holds at most 64 MiB.
func ParseTemplate(value map[string]any) (*Template, error) {
	b := &templateBuilder{t: &Template{}, vectors: map[string]*clusteredGen{}}
	if len(value) == 0 {
		b.problem("", "", "needs at least one column, e.g. name = \"string:20\"")
	}
	b.checkColumns(value)
	columns := b.object("", pathRoot, value, 1)
	b.joinClusters()
	if len(b.problems) > 0 {
		return nil, b.err()
	}
	var canonical strings.Builder
	(&Field{Kind: Object, Elems: columns}).writeCanonical(&canonical, func(f *Field) string { return f.expr })
	b.t.canonical = canonical.String()
	b.t.columns = append(columns, Field{Name: SealColumn, Kind: Int})
	return b.t, nil
}

// templateBuilder walks a value table and collects problems.
type templateBuilder struct {
	t        *Template
	problems []*FieldError
	clusters []clusterField
	vectors  map[string]*clusteredGen // by path in lower case; nil when several have it
}

// clusterField is a field that tells the cluster of another one, which may come after it.
type clusterField struct {
	path, expr string
	gen        *clusterGen
}

// joinClusters finds the vectors whose clusters are told.
func (b *templateBuilder) joinClusters() {
	for _, c := range b.clusters {
		of, there := b.vectors[c.gen.column]
		switch {
		case of != nil:
			c.gen.of = of
		case there:
			b.problem(c.path, c.expr, "several columns are named %s but for case: rename one", c.gen.column)
		default:
			wanted := "there is none"
			if names := slices.Sorted(maps.Keys(b.vectors)); len(names) > 0 {
				wanted = "there are: " + strings.Join(names, ", ")
			}
			b.problem(c.path, c.expr, "%s is no clustered vector column (%s)", c.gen.column, wanted)
		}
	}
}

func (b *templateBuilder) problem(path, expr, format string, args ...any) {
	b.problems = append(b.problems, &FieldError{Path: path, Expr: expr, Msg: fmt.Sprintf(format, args...)})
}

// err joins the problems, sorted by path.
func (b *templateBuilder) err() error {
	slices.SortStableFunc(b.problems, func(x, y *FieldError) int { return strings.Compare(x.Path, y.Path) })
	var errs []error
	for _, p := range b.problems {
		errs = append(errs, p)
	}
	return errors.Join(errs...)
}

// checkColumns refuses names of columns that not every engine can have. Members below the first level live in documents and are free.
func (b *templateBuilder) checkColumns(value map[string]any) {
	seen := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(value)) {
		path, lower := JoinPath("", name), strings.ToLower(name)
		if first, dup := seen[lower]; dup {
			b.problem(path, "", "column %q differs from column %q only in case, which SQL engines do not tell apart: rename one", name, first)
		}
		seen[lower] = name
		switch {
		case lower == SealColumn:
			b.problem(path, "", "column %q is reserved: every row carries its index and version there; choose another name", name)
		case lower == KeyColumn:
			b.problem(path, "", "column %q is reserved for the key; choose another name", name)
		case len(name) > maxColumnName:
			b.problem(path, "", "the name has %d bytes: a column's name may have at most %d", len(name), maxColumnName)
		}
	}
}

// object reads the members of a table, sorted by name.
func (b *templateBuilder) object(path string, stream uint64, table map[string]any, depth int) []Field {
	fields := make([]Field, 0, len(table)+1)
	for _, name := range slices.Sorted(maps.Keys(table)) {
		below := JoinPath(path, name)
		switch {
		case name == "":
			b.problem(below, "", "a name must not be empty")
		case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
			b.problem(below, "", "a name must be valid UTF-8 without control characters")
		}
		f := b.field(below, pathMember(stream, name), table[name], depth)
		f.Name = name
		fields = append(fields, f)
	}
	return fields
}

// field reads one entry of the value table.
func (b *templateBuilder) field(path string, stream uint64, value any, depth int) Field {
	if depth > maxDepth {
		b.problem(path, "", "nested too deep: at most %d levels", maxDepth)
		return Field{}
	}
	switch value := value.(type) {
	case string:
		f, problems := parseExpr(value)
		for _, p := range problems {
			b.problem(path, value, "%s", p)
		}
		f.path = stream
		switch g := f.gen.(type) {
		case *clusteredGen:
			g.path, g.slot = stream, len(b.t.clustered)
			b.t.clustered = append(b.t.clustered, g)
			name := strings.ToLower(path)
			if _, twice := b.vectors[name]; twice {
				g = nil
			}
			b.vectors[name] = g
		case *dataGen:
			g.slot = len(b.t.data)
			b.t.data = append(b.t.data, g)
		case *clusterGen:
			b.clusters = append(b.clusters, clusterField{path, value, g})
		}
		return f
	case map[string]any:
		if len(value) == 0 {
			b.problem(path, "", "an empty table: it needs at least one member, e.g. code = \"string:3\"")
		}
		return Field{Kind: Object, path: stream, Elems: b.object(path, stream, value, depth+1)}
	case []any:
		if len(value) == 0 {
			b.problem(path, "", "an empty array: it needs at least one element, e.g. [\"string:3\"]")
		}
		f := Field{Kind: Array, path: stream, Elems: make([]Field, 0, len(value))}
		for i, elem := range value {
			f.Elems = append(f.Elems, b.field(fmt.Sprintf("%s[%d]", path, i), pathElem(stream, uint64(i)), elem, depth+1))
		}
		return f
	case nil:
		b.problem(path, "", "null is not a generator: %s", wanted)
	case bool:
		b.problem(path, strconv.FormatBool(value), "a boolean is not a generator: write \"bool\" for random booleans; %s", wanted)
	case int64, int, uint64:
		b.problem(path, fmt.Sprint(value), "a number is not a generator: write \"int_enum:%v\" for always this number; %s", value, wanted)
	case float64:
		b.problem(path, fmt.Sprint(value), "a number is not a generator: write \"float_enum:%v\" for always this number; %s", value, wanted)
	default:
		b.problem(path, fmt.Sprint(value), "%T is not a generator: %s", value, wanted)
	}
	return Field{}
}

// wanted says what an entry of the value table may be.
const wanted = "an entry is a text such as \"string:20\" or \"int:1..100\", an array of them or a table"

// JoinPath appends a name to a path as TOML would write it, e.g. geography.code: quoted unless TOML takes it bare.
func JoinPath(path, name string) string {
	bare := name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
	if !bare {
		name = strconv.Quote(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// writeCanonical writes the field's canonical form as JSON, with the expressions that expr gives for its scalars and vectors.
func (f *Field) writeCanonical(b *strings.Builder, expr func(*Field) string) {
	open, end := "[", "]"
	switch f.Kind {
	case Object:
		open, end = "{", "}"
	case Array:
	default:
		b.Write(appendQuoted(nil, expr(f)))
		return
	}
	b.WriteString(open)
	for i := range f.Elems {
		if i > 0 {
			b.WriteByte(',')
		}
		if f.Kind == Object {
			b.Write(appendQuoted(nil, f.Elems[i].Name))
			b.WriteByte(':')
		}
		f.Elems[i].writeCanonical(b, expr)
	}
	b.WriteString(end)
}

// generate makes the field's value in the row whose key is given.
func (f *Field) generate(c *Corpus, r *Row, v *Value, row uint64) {
	if f.gen != nil {
		f.gen.fill(c, r, v, mix(row+f.path))
		return
	}
	v.kind, v.elems = f.Kind, r.elems(len(f.Elems))
	for i := range f.Elems {
		f.Elems[i].generate(c, r, &v.elems[i], row)
	}
}

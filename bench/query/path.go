package query

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/spelling"
)

// Column tells what a bound path leads to: the field, and the positions that lead there from Row.Columns through Value.Elems.
type Column struct {
	Field *corpus.Field
	At    []int
}

// String returns the path as a workload file spells it: names joined by dots, those quoted that hold anything but letters, digits, dashes and
// underscores.
func (p Path) String() string {
	text := ""
	for _, name := range p {
		text = corpus.JoinPath(text, name)
	}
	return text
}

// ParsePath reads what String returns: names joined by dots, where a name that has a dot in it, or begins with a quote, is quoted.
func ParsePath(text string) (Path, error) {
	var path Path
	for rest := text; ; {
		var name string
		if strings.HasPrefix(rest, `"`) {
			quoted, err := strconv.QuotedPrefix(rest)
			if err != nil {
				return nil, fmt.Errorf("path %q: the quotes do not match", text)
			}
			if name, err = strconv.Unquote(quoted); err != nil {
				return nil, fmt.Errorf("path %q: %s is not a quoted name", text, quoted)
			}
			if rest = rest[len(quoted):]; rest != "" && rest[0] != '.' {
				return nil, fmt.Errorf("path %q: a dot must follow a quoted name", text)
			}
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			name, rest = rest[:end], rest[end:]
		}
		if name == "" {
			return nil, fmt.Errorf("path %q: a name is empty", text)
		}
		path = append(path, name)
		if rest == "" {
			return path, nil
		}
		rest = rest[1:]
	}
}

// Resolve finds what the path leads to in the template. The error names the nearest column.
func Resolve(t *corpus.Template, path Path) (Column, error) {
	fields := t.Columns()
	var c Column
	for depth, name := range path {
		i := slices.IndexFunc(fields, func(f corpus.Field) bool { return f.Name == name })
		if i < 0 {
			return Column{}, unknown(path[:depth], name, fields)
		}
		c.Field, c.At = &fields[i], append(c.At, i)
		if depth == len(path)-1 {
			return c, nil
		}
		if c.Field.Kind != corpus.Object {
			return Column{}, fmt.Errorf("column %s has no members, so no %s: it is %s%s", path[:depth+1], path[depth+1:], article(c.Field.Kind),
				meantOperator(path[depth+1]))
		}
		fields = c.Field.Elems
	}
	return Column{}, fmt.Errorf("no column is named")
}

// unknown says that there is no such column or member.
func unknown(parent Path, name string, fields []corpus.Field) error {
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	near := spelling.Nearest(name, names)
	what := "there is no column " + Path{name}.String()
	if len(parent) > 0 {
		what = fmt.Sprintf("column %s has no member %s", parent, Path{name})
	}
	if near != "" {
		return fmt.Errorf("%s; did you mean %s?", what, append(slices.Clone(parent), near))
	}
	return fmt.Errorf("%s (there are: %s)", what, strings.Join(names, ", "))
}

// meantOperator names the operator that was meant in place of a member.
func meantOperator(name string) string {
	if near := spelling.Nearest(name, Operators()); near != "" {
		return fmt.Sprintf("; did you mean the operator %s?", near)
	}
	return ""
}

// article returns the kind's name for a sentence: "a string", "an array".
func article(k corpus.Kind) string {
	name := k.String()
	if strings.ContainsRune("aeiou", rune(name[0])) {
		return "an " + name
	}
	return "a " + name
}

// absent stands for a value that is not there because something around it is not.
var absent corpus.Value

// value returns what the row holds at the column.
func (c *Column) value(row *corpus.Row) *corpus.Value {
	values := row.Columns
	for depth, i := range c.At {
		if i >= len(values) {
			return &absent
		}
		if depth == len(c.At)-1 {
			return &values[i]
		}
		values = values[i].Elems()
	}
	return &absent
}

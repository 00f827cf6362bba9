package spec

import (
	"bytes"
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// lines maps the path of every key and element of a file to its line: "samples", "value.geography.code", "scans[3].runs[0].name".
type lines map[string]int

// of returns the line of path, or of the nearest thing around it that has one; 0 when there is none.
func (l lines) of(path string) int {
	for path != "" {
		if line, ok := l[path]; ok {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// note records the line of path unless an earlier one is known.
func (l lines) note(path string, line int) {
	if _, ok := l[path]; !ok && line > 0 {
		l[path] = line
	}
}

// indexer walks the expressions of a file that is known to be well formed.
type indexer struct {
	parser   unstable.Parser
	newlines []int          // offset of each line's end
	tables   map[string]int // elements seen so far of each array of tables
	lines    lines
}

// indexLines finds the line of everything in a file that is known to be well formed.
func indexLines(data []byte) lines {
	x := &indexer{tables: map[string]int{}, lines: lines{}}
	for offset := 0; ; {
		i := bytes.IndexByte(data[offset:], '\n')
		if i < 0 {
			break
		}
		x.newlines = append(x.newlines, offset+i)
		offset += i + 1
	}
	x.parser.Reset(data)
	prefix := ""
	for x.parser.NextExpression() {
		switch e := x.parser.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			prefix = x.header(e)
		case unstable.KeyValue:
			x.keyValue(prefix, e, 0)
		}
	}
	return x.lines
}

// header returns the path of a [table] or [[array of tables]].
func (x *indexer) header(e *unstable.Node) string {
	path := ""
	for key := e.Key(); key.Next(); {
		path = join(path, string(key.Node().Data))
		line := x.line(key.Node())
		x.lines.note(path, line)
		if e.Kind == unstable.ArrayTable && key.IsLast() {
			x.tables[path]++
		}
		if n := x.tables[path]; n > 0 {
			path = fmt.Sprintf("%s[%d]", path, n-1)
			x.lines.note(path, line)
		}
	}
	return path
}

// keyValue records a key, which may be dotted, and what it holds.
func (x *indexer) keyValue(prefix string, e *unstable.Node, line int) {
	path := prefix
	for key := e.Key(); key.Next(); {
		path = join(path, string(key.Node().Data))
		if own := x.line(key.Node()); own > 0 {
			line = own
		}
		x.lines.note(path, line)
	}
	x.value(path, e.Value(), line)
}

// value records the elements of arrays and inline tables.
func (x *indexer) value(path string, v *unstable.Node, line int) {
	switch v.Kind {
	case unstable.Array:
		i := 0
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.Comment {
				continue
			}
			element := fmt.Sprintf("%s[%d]", path, i)
			if own := x.line(it.Node()); own > 0 {
				line = own
			}
			x.lines.note(element, line)
			x.value(element, it.Node(), line)
			i++
		}
	case unstable.InlineTable:
		for it := v.Children(); it.Next(); {
			if it.Node().Kind == unstable.KeyValue {
				x.keyValue(path, it.Node(), line)
			}
		}
	}
}

// line returns the line of a node, 0 for those that the parser gives no place: arrays and inline tables.
func (x *indexer) line(n *unstable.Node) int {
	if n.Raw.Length == 0 {
		return 0
	}
	return 1 + sort.SearchInts(x.newlines, int(n.Raw.Offset))
}

// Bounds of paths and of the keys in them, in bytes: a file of nothing but nested keys would otherwise need the square of its size.
const (
	maxPath = 1000
	maxKey  = 200
)

// join appends a key to a path, quoted unless TOML takes it bare. Long keys are cut, and past maxPath the path stays what it is.
func join(path, key string) string {
	if len(key) > maxKey {
		key = key[:maxKey] + "…"
	}
	if len(path)+len(key) > maxPath {
		return path
	}
	if !bareKey.MatchString(key) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// bareKey matches what TOML takes as a key without quotes.
var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

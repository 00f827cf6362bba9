package corpus

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agext/levenshtein"
)

// Limits of one cell, so that a slip of the pen is refused before it fills the memory.
const (
	maxCell    = 64 << 20 // bytes of a text, components of all centres of a vector column
	maxDim     = 1 << 16
	maxSigma   = 1e6
	lastSecond = 1_924_991_999 // exclusive end of datetime
	// defaultSigma is how far crud-bench scatters a clustered vector when the expression does not say.
	defaultSigma = 0.35
	// defaultDecimals is the exclusive end of decimal without a range, in units of 10⁻⁴.
	defaultDecimals = 10_000_000_000
)

// generators maps the name of each generator to the function that reads its argument.
var generators = map[string]func(p *exprParser, arg string) Field{
	"string":       (*exprParser).stringExpr,
	"text":         (*exprParser).textExpr,
	"words":        (*exprParser).wordsExpr,
	"int":          (*exprParser).intExpr,
	"float":        (*exprParser).floatExpr,
	"decimal":      (*exprParser).decimalExpr,
	"bytes":        (*exprParser).bytesExpr,
	"bool":         (*exprParser).boolExpr,
	"uuid":         (*exprParser).uuidExpr,
	"datetime":     (*exprParser).datetimeExpr,
	"string_enum":  (*exprParser).enumExpr,
	"int_enum":     (*exprParser).enumExpr,
	"float_enum":   (*exprParser).enumExpr,
	"decimal_enum": (*exprParser).enumExpr,
	"vector":       (*exprParser).vectorExpr,
	"cluster":      (*exprParser).clusterExpr,
}

// exprParser reads one expression and collects what is wrong with it.
type exprParser struct {
	name     string // of the generator
	given    bool   // whether a colon follows the name
	problems []string
}

func (p *exprParser) problem(format string, args ...any) Field {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
	return Field{}
}

// parseExpr reads an expression into a field without name and path. The field is only good without problems.
func parseExpr(expr string) (Field, []string) {
	if !utf8.ValidString(expr) {
		return Field{}, []string{"not valid UTF-8"}
	}
	name, arg, given := strings.Cut(strings.ToLower(expr), ":")
	p := &exprParser{name: strings.TrimSpace(name), given: given}
	read, known := generators[p.name]
	if !known {
		p.problem("%s", unknownGenerator(p.name))
		return Field{}, p.problems
	}
	f := read(p, arg)
	return f, p.problems
}

// unknownGenerator names the nearest generator, or all of them when none is near.
func unknownGenerator(name string) string {
	var known []string
	for g := range generators {
		known = append(known, g)
	}
	slices.Sort(known)
	best, distance := "", 3
	for _, g := range known {
		if d := levenshtein.Distance(name, g, nil); d < distance {
			best, distance = g, d
		}
	}
	if best != "" {
		return fmt.Sprintf("unknown generator %q: did you mean %q?", name, best)
	}
	return fmt.Sprintf("unknown generator %q: known are %s", name, strings.Join(known, ", "))
}

func (p *exprParser) stringExpr(arg string) Field {
	n := p.length(arg)
	return Field{Kind: String, MaxLen: n.max(), gen: &stringGen{n}, expr: "string:" + n.String()}
}

func (p *exprParser) textExpr(arg string) Field {
	n := p.length(arg)
	return Field{Kind: String, MaxLen: n.overshoot(textWordMax), gen: &textGen{n}, expr: "text:" + n.String()}
}

func (p *exprParser) wordsExpr(arg string) Field {
	size, list, ok := strings.Cut(arg, ";")
	if !ok {
		return p.problem("words needs a dictionary after its length, e.g. words:100;hello,world")
	}
	n := p.length(size)
	g := newWordsGen(n, p.labels(list))
	return Field{Kind: String, MaxLen: n.overshoot(g.longest), gen: g, expr: "words:" + n.String() + ";" + list}
}

func (p *exprParser) bytesExpr(arg string) Field {
	n := p.length(arg)
	return Field{Kind: Bytes, MaxLen: n.max(), gen: &bytesGen{n}, expr: "bytes:" + n.String()}
}

func (p *exprParser) boolExpr(string) Field {
	p.noArgument()
	return Field{Kind: Bool, gen: boolGen{}, expr: "bool"}
}

func (p *exprParser) uuidExpr(string) Field {
	p.noArgument()
	return Field{Kind: UUID, gen: uuidGen{}, expr: "uuid"}
}

func (p *exprParser) datetimeExpr(string) Field {
	p.noArgument()
	return Field{Kind: DateTime, gen: newRangeGen(DateTime, 0, lastSecond), expr: "datetime"}
}

func (p *exprParser) noArgument() {
	if p.given {
		p.problem("%s takes no argument: write %q", p.name, p.name)
	}
}

func (p *exprParser) intExpr(arg string) Field {
	lo, hi := int64(math.MinInt32), int64(math.MaxInt32)
	if p.given {
		lo, hi = ends(p, arg, "1..100", parseInt)
	}
	return Field{Kind: Int, gen: newRangeGen(Int, lo, hi), expr: fmt.Sprintf("int:%d..%d", lo, hi)}
}

func (p *exprParser) decimalExpr(arg string) Field {
	lo, hi := int64(0), int64(defaultDecimals)
	if p.given {
		lo, hi = ends(p, arg, "0..99.9999", func(s string) (int64, error) { return ParseDecimal([]byte(s)) })
	}
	expr := AppendDecimal(append(AppendDecimal([]byte("decimal:"), lo), ".."...), hi)
	return Field{Kind: Decimal, gen: newRangeGen(Decimal, lo, hi), expr: string(expr)}
}

func (p *exprParser) floatExpr(arg string) Field {
	lo, hi := float32(-math.MaxFloat32), float32(math.MaxFloat32)
	if p.given {
		lo, hi = ends(p, arg, "0.0..100.0", parseFloat32)
	}
	return Field{Kind: Float, gen: newFloatGen(lo, hi), expr: "float:" + formatFloat32(lo) + ".." + formatFloat32(hi)}
}

func (p *exprParser) enumExpr(list string) Field {
	kind, parse := String, func(label string) (Value, error) { return Value{kind: String, bytes: []byte(label)}, nil }
	switch p.name {
	case "int_enum":
		kind, parse = Int, func(label string) (Value, error) {
			n, err := parseInt(label)
			return Value{kind: Int, bits: uint64(n)}, err
		}
	case "decimal_enum":
		kind, parse = Decimal, func(label string) (Value, error) {
			n, err := ParseDecimal([]byte(strings.TrimSpace(label)))
			return Value{kind: Decimal, bits: uint64(n)}, err
		}
	case "float_enum":
		kind, parse = Float, func(label string) (Value, error) {
			n, err := parseFloat32(label)
			return Value{kind: Float, bits: math.Float64bits(float64(n))}, err
		}
	}
	g := &enumGen{}
	var canonical []string
	f := Field{Kind: kind, gen: g}
	for _, label := range p.labels(list) {
		if label == "" {
			continue // labels has said so
		}
		v, err := parse(label)
		if err != nil {
			p.problem("%v", err)
		}
		g.values = append(g.values, v)
		canonical = append(canonical, v.label())
		f.MaxLen = max(f.MaxLen, len(v.bytes))
	}
	f.expr = p.name + ":" + strings.Join(canonical, ",")
	return f
}

// label spells an enum's value the canonical way.
func (v *Value) label() string {
	switch v.kind {
	case Int:
		return strconv.FormatInt(v.Int(), 10)
	case Decimal:
		return string(AppendDecimal(nil, v.Decimal()))
	case Float:
		return formatFloat32(float32(v.Float()))
	}
	return string(v.bytes)
}

func (p *exprParser) vectorExpr(arg string) Field {
	args := strings.Split(arg, ":")
	dim, err := strconv.Atoi(strings.TrimSpace(args[0]))
	if !p.given || err != nil || dim < 1 || dim > maxDim {
		return p.problem("vector needs a dimension from 1 to %d, e.g. vector:768, not %q", maxDim, args[0])
	}
	f := Field{Kind: Vector, Dim: dim}
	switch {
	case len(args) > 1 && strings.TrimSpace(args[1]) == "clustered":
		return p.clusteredExpr(f, args[2:])
	case len(args) > 1 && strings.TrimSpace(args[1]) == "data":
		return p.dataExpr(f, args[2:])
	case len(args) > 2:
		return p.problem("vector takes a dimension and a range, clustered or data, e.g. vector:768:-1..1, vector:768:clustered:200:0.35 or vector:768:data:sift")
	}
	lo, hi := float32(-1), float32(1)
	if len(args) == 2 {
		lo, hi = ends(p, args[1], "-1..1", parseFloat32)
		if math.IsInf(float64(hi-lo), 0) {
			return p.problem("the range %s is wider than a float32 holds", args[1])
		}
	}
	f.gen = &vectorGen{dim: dim, lo: lo, hi: hi}
	f.expr = fmt.Sprintf("vector:%d:%s..%s", dim, formatFloat32(lo), formatFloat32(hi))
	return f
}

func (p *exprParser) clusteredExpr(f Field, args []string) Field {
	if len(args) < 1 || len(args) > 2 {
		return p.problem("clustered takes a number of clusters and optionally sigma, e.g. vector:%d:clustered:200:0.35", f.Dim)
	}
	n, err := strconv.Atoi(strings.TrimSpace(args[0]))
	if most := maxCell / f.Dim; err != nil || n < 1 || n > most {
		p.problem("clustered needs a number of clusters from 1 to %d, e.g. vector:%d:clustered:200, not %q", most, f.Dim, args[0])
	}
	sigma := defaultSigma
	if len(args) == 2 {
		sigma, err = strconv.ParseFloat(strings.TrimSpace(args[1]), 64)
		if err != nil || !(sigma >= 0 && sigma <= maxSigma) { // also refuses NaN
			p.problem("sigma is a number from 0 to %g, e.g. 0.35, not %q", maxSigma, args[1])
		}
	}
	f.gen = newClusteredGen(f.Dim, n, sigma)
	f.expr = fmt.Sprintf("vector:%d:clustered:%d:%s", f.Dim, n, strconv.FormatFloat(sigma, 'g', -1, 64))
	return f
}

func (p *exprParser) dataExpr(f Field, args []string) Field {
	if len(args) != 1 || !IsDataName(strings.TrimSpace(args[0])) {
		return p.problem("data takes the name of a data set, of letters, digits, _ and -, e.g. vector:%d:data:sift", f.Dim)
	}
	g := &dataGen{dim: f.Dim, name: strings.TrimSpace(args[0])}
	f.gen, f.expr = g, g.expr(g.name)
	return f
}

func (p *exprParser) clusterExpr(arg string) Field {
	of := strings.TrimSpace(arg)
	if of == "" {
		return p.problem("cluster needs the name of a clustered vector column, e.g. cluster:embedding")
	}
	return Field{Kind: Int, gen: &clusterGen{column: of}, expr: "cluster:" + of}
}

// labels splits a list at its commas. Blanks belong to a label.
func (p *exprParser) labels(list string) []string {
	if list == "" {
		p.problem("%s needs labels separated by commas", p.name)
		return nil
	}
	labels := strings.Split(list, ",")
	for i, label := range labels {
		if label == "" {
			p.problem("label %d of %d is empty: take out the extra comma", i+1, len(labels))
		}
	}
	return labels
}

// length reads "N" or "A..B" as a number of bytes.
func (p *exprParser) length(arg string) lengths {
	from, to, isRange := strings.Cut(arg, "..")
	if !isRange {
		n, err := parseInt(from)
		switch {
		case strings.TrimSpace(arg) == "":
			p.problem("%s needs a length, e.g. %s:50 or %s:10..20", p.name, p.name, p.name)
		case err != nil:
			p.problem("%v: a length is a number of characters, e.g. 50 or 10..20", err)
		case n < 0:
			p.problem("length %d is negative: it is 0 or more", n)
		case n > maxCell:
			p.problem("length %d is too large: at most %d bytes (64 MiB)", n, maxCell)
		default:
			return lengths{int(n), int(n) + 1}
		}
		return lengths{0, 1}
	}
	lo, hi := ends(p, from+".."+to, "10..20", parseInt)
	if lo < 0 {
		p.problem("length %d is negative: it is 0 or more", lo)
		return lengths{0, 1}
	}
	if hi-1 > maxCell {
		p.problem("length %d is too large: at most %d bytes (64 MiB)", hi-1, maxCell)
		return lengths{0, 1}
	}
	return lengths{int(lo), int(hi)}
}

// ends reads the two ends of a half-open range and checks that something lies between them.
func ends[T int64 | float32](p *exprParser, arg, example string, parse func(string) (T, error)) (lo, hi T) {
	from, to, ok := strings.Cut(arg, "..")
	if !ok {
		p.problem("%q is not a range: write two numbers joined by two dots, e.g. %s", arg, example)
		return 0, 1
	}
	from, to = strings.TrimSpace(from), strings.TrimSpace(to)
	lo, errLo := parse(from)
	hi, errHi := parse(to)
	switch {
	case errLo != nil || errHi != nil:
		for _, err := range []error{errLo, errHi} {
			if err != nil {
				p.problem("%v", err)
			}
		}
		return 0, 1
	case lo == hi:
		p.problem("the range %s..%s is empty: its upper end is not part of it", from, to)
		return 0, 1
	case lo > hi:
		p.problem("the range %s..%s is reversed: write the lower end first", from, to)
		return 0, 1
	}
	return lo, hi
}

func parseInt(s string) (int64, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseInt(s, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return 0, fmt.Errorf("%s does not fit in 64 bits", s)
	}
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	return n, nil
}

func parseFloat32(s string) (float32, error) {
	s = strings.TrimSpace(s)
	n, err := strconv.ParseFloat(s, 32)
	if errors.Is(err, strconv.ErrRange) || math.IsInf(n, 0) {
		return 0, fmt.Errorf("%s does not fit in a float32", s)
	}
	if err != nil || math.IsNaN(n) {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return float32(n) + 0, nil // -0 becomes 0: engines disagree on whether they keep it
}

func formatFloat32(f float32) string { return strconv.FormatFloat(float64(f), 'g', -1, 32) }

package mongodb

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// renderer writes scans as MongoDB's documents. Every literal is a BSON value of its own: there is no text to quote anything in, but for
// regular expressions.
type renderer struct {
	units bool // as in schema
}

// can finds what MongoDB cannot do in a condition.
func can(p *query.Predicate) error {
	if p == nil {
		return nil
	}
	if n := countMatches(p); n > 1 {
		return drivers.Unsupported{Why: "MongoDB takes one search for words in a query, and the condition has " + strconv.Itoa(n)}
	}
	return canPart(p, true)
}

// countMatches counts the searches for words.
func countMatches(p *query.Predicate) (n int) {
	if isMatch(p.Op) {
		n++
	}
	for _, arg := range p.Args {
		n += countMatches(arg)
	}
	return n
}

func isMatch(op query.Op) bool { return op == query.MatchAll || op == query.MatchAny }

// canPart looks at one part; top tells that it has to hold by itself, and not as one side of an or, or as its own opposite.
func canPart(p *query.Predicate, top bool) error {
	if isMatch(p.Op) && !top {
		return drivers.Unsupported{Why: "MongoDB looks for words only as a condition of the whole query, not inside or and not"}
	}
	column := p.Column()
	if column != nil {
		if err := canPath(p.Path); err != nil {
			return err
		}
		if column.Field.Kind == corpus.Bytes && isOrdering(p.Op) {
			return unorderedBytes(p.Path)
		}
	}
	for _, arg := range p.Args {
		if err := canPart(arg, top && p.Op == query.And); err != nil {
			return err
		}
	}
	return nil
}

// canPath refuses names that a path in MongoDB's words cannot have.
func canPath(path query.Path) error {
	for _, name := range path {
		if strings.Contains(name, ".") || strings.HasPrefix(name, "$") {
			return drivers.Unsupported{Why: fmt.Sprintf("MongoDB cannot name the column %s in a query", path)}
		}
	}
	return nil
}

func isOrdering(op query.Op) bool {
	switch op {
	case query.Lt, query.Lte, query.Gt, query.Gte, query.Between:
		return true
	}
	return false
}

func unorderedBytes(path query.Path) error {
	return drivers.Unsupported{Why: fmt.Sprintf("column %s: MongoDB orders binary data by its length first", path)}
}

// dotted is a path in MongoDB's words.
func dotted(path query.Path) string { return strings.Join(path, ".") }

// appendCondition appends the document that finds what the predicate finds.
func (r renderer) appendCondition(dst []byte, p *query.Predicate) ([]byte, error) {
	at, dst := bsoncore.AppendDocumentStart(dst)
	dst, err := r.appendTerms(dst, p)
	if err != nil {
		return dst, err
	}
	return bsoncore.AppendDocumentEnd(dst, at)
}

// appendTerms appends the elements of that document.
func (r renderer) appendTerms(dst []byte, p *query.Predicate) ([]byte, error) {
	if p == nil {
		return dst, nil
	}
	switch p.Op {
	case query.And:
		return r.appendList(dst, "$and", p.Args)
	case query.Or:
		return r.appendList(dst, "$or", p.Args)
	case query.Not:
		return r.appendList(dst, "$nor", p.Args) // $not would find rows without the value, too
	case query.MatchAll, query.MatchAny:
		return appendSearch(dst, p)
	}
	path := dotted(p.Path)
	if p.Op == query.IsNull {
		return bsoncore.AppendNullElement(dst, path), nil
	}
	at, dst := bsoncore.AppendDocumentElementStart(dst, path)
	dst, err := r.appendOperator(dst, p)
	if err != nil {
		return dst, fmt.Errorf("column %s: %w", p.Path, err)
	}
	return bsoncore.AppendDocumentEnd(dst, at)
}

func (r renderer) appendList(dst []byte, operator string, args []*query.Predicate) ([]byte, error) {
	list, dst := bsoncore.AppendArrayElementStart(dst, operator)
	for i, arg := range args {
		at, inside := bsoncore.AppendDocumentElementStart(dst, strconv.Itoa(i))
		inside, err := r.appendTerms(inside, arg)
		if err != nil {
			return inside, err
		}
		if dst, err = bsoncore.AppendDocumentEnd(inside, at); err != nil {
			return dst, err
		}
	}
	return bsoncore.AppendArrayEnd(dst, list)
}

// appendOperator appends the operators of a comparison.
func (r renderer) appendOperator(dst []byte, p *query.Predicate) ([]byte, error) {
	first := func() query.Literal { return p.Values[0] }
	switch p.Op {
	case query.Eq:
		return r.appendLiteral(dst, "$eq", first())
	case query.Ne:
		// Unlike $ne, it does not find rows without the value.
		at, dst := bsoncore.AppendArrayElementStart(dst, "$nin")
		dst, err := r.appendLiteral(dst, "0", first())
		if err != nil {
			return dst, err
		}
		return bsoncore.AppendArrayEnd(bsoncore.AppendNullElement(dst, "1"), at)
	case query.Lt:
		return r.appendLiteral(dst, "$lt", first())
	case query.Lte:
		return r.appendLiteral(dst, "$lte", first())
	case query.Gt:
		return r.appendLiteral(dst, "$gt", first())
	case query.Gte:
		return r.appendLiteral(dst, "$gte", first())
	case query.Between:
		dst, err := r.appendLiteral(dst, "$gte", p.Values[0])
		if err != nil {
			return dst, err
		}
		return r.appendLiteral(dst, "$lte", p.Values[1])
	case query.In, query.HasAny:
		return r.appendLiterals(dst, "$in", p.Values)
	case query.HasAll:
		return r.appendLiterals(dst, "$all", p.Values)
	case query.Prefix:
		return bsoncore.AppendRegexElement(dst, "$regex", "^"+pattern(first().Text), ""), nil
	case query.Suffix:
		return bsoncore.AppendRegexElement(dst, "$regex", pattern(first().Text)+`\z`, ""), nil // $ would also match before a last newline
	case query.Contains:
		return bsoncore.AppendRegexElement(dst, "$regex", pattern(first().Text), ""), nil
	}
	return dst, drivers.Unsupported{Why: fmt.Sprintf("MongoDB has no operator for %s here", p.Op)}
}

// pattern matches the text and nothing else. A pattern cannot hold the character NUL itself.
func pattern(text string) string {
	return strings.ReplaceAll(regexp.QuoteMeta(text), "\x00", `\x00`)
}

// appendSearch looks for words in the collection's text index. Words in quotes all have to be there; others count one by one.
func appendSearch(dst []byte, p *query.Predicate) ([]byte, error) {
	words := make([]string, len(p.Values))
	for i, word := range p.Values {
		words[i] = word.Text // letters and digits: Bind makes sure
		if p.Op == query.MatchAll {
			words[i] = `"` + word.Text + `"`
		}
	}
	at, dst := bsoncore.AppendDocumentElementStart(dst, "$text")
	dst = bsoncore.AppendStringElement(dst, "$search", strings.Join(words, " "))
	dst = bsoncore.AppendStringElement(dst, "$language", "none") // no stems, no stop words
	dst = bsoncore.AppendBooleanElement(dst, "$diacriticSensitive", true)
	return bsoncore.AppendDocumentEnd(dst, at)
}

func (r renderer) appendLiterals(dst []byte, operator string, values []query.Literal) ([]byte, error) {
	at, dst := bsoncore.AppendArrayElementStart(dst, operator)
	var err error
	for i := range values {
		if dst, err = r.appendLiteral(dst, strconv.Itoa(i), values[i]); err != nil {
			return dst, err
		}
	}
	return bsoncore.AppendArrayEnd(dst, at)
}

// appendLiteral appends a value of the type that appendElement gives to such values.
func (r renderer) appendLiteral(dst []byte, name string, l query.Literal) ([]byte, error) {
	switch l.Kind {
	case corpus.Bool:
		return bsoncore.AppendBooleanElement(dst, name, l.Bool), nil
	case corpus.Int:
		return bsoncore.AppendInt64Element(dst, name, l.Int), nil
	case corpus.Float:
		return bsoncore.AppendDoubleElement(dst, name, l.Float), nil
	case corpus.Decimal:
		if r.units {
			return bsoncore.AppendInt64Element(dst, name, l.Int), nil
		}
		high, low := decimal128(l.Int)
		return bsoncore.AppendDecimal128Element(dst, name, high, low), nil
	case corpus.DateTime:
		return bsoncore.AppendDateTimeElement(dst, name, l.Int*1000), nil
	case corpus.String:
		return bsoncore.AppendStringElement(dst, name, l.Text), nil
	case corpus.UUID:
		return bsoncore.AppendBinaryElement(dst, name, subtypeUUID, l.Bytes), nil
	case corpus.Bytes:
		return bsoncore.AppendBinaryElement(dst, name, subtypeGeneric, l.Bytes), nil
	}
	return dst, errors.New("a literal without a kind")
}

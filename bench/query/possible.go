package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/spelling"
)

// CheckPossible finds a condition of the bound scan that no row of the template can ever meet, whatever the seed: a label that an enum does not have, a
// number out of its column's range, a word that is in no dictionary. The error is Problems. A condition may still find nothing without it; what Expect finds
// tells.
func (s *Scan) CheckPossible() error {
	var problems Problems
	if s.Where != nil {
		if place, why := s.Where.impossible("where"); why != "" {
			problems.add(place, "finds nothing: %s", why)
		}
	}
	return problems.err()
}

// impossible returns why the tree can never hold, and where it says so; why is empty when it may.
func (p *Predicate) impossible(place string) (at, why string) {
	if p.key != "" {
		place = p.key
	}
	switch p.Op {
	case Not:
		return "", ""
	case And, Or:
		for i, arg := range p.Args {
			at, why = arg.impossible(fmt.Sprintf("%s.args[%d]", place, i))
			if (why != "") == (p.Op == And) {
				break
			}
		}
		return at, why
	case IsNull:
		return place, "every row has a value in every column"
	case HasAny, HasAll:
		return place, p.impossibleElements()
	}
	return place, p.impossibleValue(p.column.Field)
}

// impossibleElements tells whether the array can have no element, or not each of those wanted.
func (p *Predicate) impossibleElements() string {
	var why string
	for _, v := range p.Values {
		why = ""
		for i := range p.column.Field.Elems {
			one := &Predicate{Op: Eq, Path: p.Path, Values: []Literal{v}}
			if why = one.impossibleValue(&p.column.Field.Elems[i]); why == "" {
				break
			}
		}
		if (why != "") == (p.Op == HasAll) {
			break
		}
	}
	return why
}

// impossibleValue tells why no value of the field meets the comparison.
func (p *Predicate) impossibleValue(f *corpus.Field) string {
	d := f.Domain()
	switch {
	case d.Values != nil:
		for i := range d.Values {
			if p.holds(&d.Values[i]) {
				return ""
			}
		}
		return p.noSuchLabel(d.Values)
	case f.Kind == corpus.String:
		return p.impossibleText(d)
	case f.Kind == corpus.Float:
		return p.impossibleNumber(Literal{Kind: f.Kind, Float: d.LoFloat}, Literal{Kind: f.Kind, Float: d.HiFloat}, true)
	case f.Kind == corpus.Int, f.Kind == corpus.Decimal, f.Kind == corpus.DateTime:
		return p.impossibleNumber(Literal{Kind: f.Kind, Int: d.Lo}, Literal{Kind: f.Kind, Int: d.Hi}, false)
	}
	return ""
}

// noSuchLabel names the values there are, and the one that was probably meant.
func (p *Predicate) noSuchLabel(values []corpus.Value) string {
	var labels []string
	for i := range values {
		if l := LiteralOf(&values[i]); l.Kind == corpus.String {
			labels = append(labels, l.Text)
		} else {
			labels = append(labels, l.String())
		}
	}
	slices.Sort(labels)
	labels = slices.Compact(labels)
	meant := ""
	if near := spelling.Nearest(p.Values[0].Text, labels); near != "" {
		meant = fmt.Sprintf("; did you mean %q?", near)
	}
	return shorten(fmt.Sprintf("%s is one of %s", p.Path, strings.Join(labels, ", "))) + meant
}

// impossibleNumber compares with the range of the column: lo to hi, hi left out if open.
func (p *Predicate) impossibleNumber(lo, hi Literal, open bool) string {
	above := func(l Literal) bool { return l.Compare(hi) > 0 || open && l.Compare(hi) == 0 }
	below := func(l Literal) bool { return l.Compare(lo) < 0 }
	first, last := p.Values[0], p.Values[len(p.Values)-1]
	impossible := false
	switch p.Op {
	case Eq, In:
		impossible = !slices.ContainsFunc(p.Values, func(l Literal) bool { return !below(l) && !above(l) })
	case Lt:
		impossible = first.Compare(lo) <= 0
	case Lte:
		impossible = below(first)
	case Gt:
		impossible = first.Compare(hi) >= 0
	case Gte:
		impossible = above(first)
	case Between:
		impossible = above(first) || below(last)
	case Ne:
		impossible = !open && lo.Compare(hi) == 0 && first.Compare(lo) == 0
	}
	if !impossible {
		return ""
	}
	if open {
		return fmt.Sprintf("%s is from %s to below %s", p.Path, lo, hi)
	}
	return fmt.Sprintf("%s is from %s to %s", p.Path, lo, hi)
}

// impossibleText looks at lengths, characters and words.
func (p *Predicate) impossibleText(d corpus.Domain) string {
	var why string
	for _, v := range p.Values {
		switch p.Op {
		case Eq, In:
			why = impossibleWhole(p.Path, d, v.Text)
		case Prefix, Suffix, Contains:
			why = impossiblePart(p.Path, d, v.Text)
		case MatchAll, MatchAny:
			if why = ""; d.Words != nil && !slices.ContainsFunc(d.Words, func(w string) bool { return slices.Contains(Tokens(w), v.Text) }) {
				why = shorten(fmt.Sprintf("the words of %s are %s", p.Path, strings.Join(d.Words, ", ")))
			}
		default:
			return ""
		}
		if (why != "") == (p.Op == MatchAll) {
			break
		}
	}
	return why
}

func impossibleWhole(path Path, d corpus.Domain, text string) string {
	if len(text) < d.MinLen {
		return fmt.Sprintf("%s has %d to %d bytes", path, d.MinLen, d.MaxLen)
	}
	return impossiblePart(path, d, text)
}

func impossiblePart(path Path, d corpus.Domain, text string) string {
	if len(text) > d.MaxLen {
		return fmt.Sprintf("%s has %d to %d bytes", path, d.MinLen, d.MaxLen)
	}
	for _, r := range text {
		plain := r == ' ' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if d.Plain && !plain {
			return fmt.Sprintf("%s has only the characters A-Z a-z 0-9 and spaces", path)
		}
		if d.Words != nil && r != ' ' && !slices.ContainsFunc(d.Words, func(w string) bool { return strings.ContainsRune(w, r) }) {
			return shorten(fmt.Sprintf("the words of %s are %s", path, strings.Join(d.Words, ", ")))
		}
	}
	return ""
}

package corpus

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"
)

// maxDiffText is the most characters of a text that Diff returns.
const maxDiffText = 80

// Diff returns the first place where two rows of a template differ, e.g. "geography.code" or "tags[1]", and what each holds there, for people
// and shortened to 80 characters; long texts are shown from just before the first difference. It is true when there is none, which is
// when the checksums are equal.
func Diff(t *Template, want, got *Row) (column, wantText, gotText string, same bool) {
	for i := range t.columns {
		f := &t.columns[i]
		switch inWant, inGot := i < len(want.Columns), i < len(got.Columns); {
		case inWant != inGot:
			return JoinPath("", f.Name), presence(inWant), presence(inGot), false
		case !inWant:
			return "", "", "", true
		}
		below, wantText, gotText, same := diffValue(f, &want.Columns[i], &got.Columns[i])
		if !same {
			return JoinPath("", f.Name) + below, shorten(wantText), shorten(gotText), false
		}
	}
	if len(want.Columns) != len(got.Columns) {
		return "columns", strconv.Itoa(len(want.Columns)), strconv.Itoa(len(got.Columns)), false
	}
	return "", "", "", true
}

func presence(there bool) string {
	if there {
		return "the column"
	}
	return "no such column"
}

// noField stands for the field of an element that the template has no place for.
var noField Field

// diffValue compares two values of a field. The path is relative to the field and empty when the values differ themselves.
func diffValue(f *Field, want, got *Value) (path, wantText, gotText string, same bool) {
	if want.kind != got.kind || len(want.elems) != len(got.elems) || len(want.floats) != len(got.floats) {
		return "", want.describe(), got.describe(), false
	}
	for i := range want.elems {
		elem := &noField
		if i < len(f.Elems) {
			elem = &f.Elems[i]
		}
		path, wantText, gotText, same = diffValue(elem, &want.elems[i], &got.elems[i])
		if !same {
			if want.kind == Array {
				return "[" + strconv.Itoa(i) + "]" + path, wantText, gotText, false
			}
			return "." + JoinPath("", elem.Name) + path, wantText, gotText, false
		}
	}
	for i, x := range want.floats {
		if y := got.floats[i]; math.Float32bits(x) != math.Float32bits(y) {
			return "[" + strconv.Itoa(i) + "]", formatFloat32(x), formatFloat32(y), false
		}
	}
	if want.bits == got.bits && bytes.Equal(want.bytes, got.bytes) {
		return "", "", "", true
	}
	if want.kind == String || want.kind == Bytes {
		at := 0
		for at < len(want.bytes) && at < len(got.bytes) && want.bytes[at] == got.bytes[at] {
			at++
		}
		return "", want.excerpt(at), got.excerpt(at), false
	}
	return "", want.text(), got.text(), false
}

// describe names the kind too, where two kinds or two lengths differ.
func (v *Value) describe() string {
	switch v.kind {
	case 0:
		return "absent"
	case Array, Object:
		return fmt.Sprintf("%s of %d", v.kind, len(v.elems))
	case Vector:
		return fmt.Sprintf("vector of %d", len(v.floats))
	}
	return v.kind.String() + " " + v.text()
}

// text spells a scalar for people.
func (v *Value) text() string {
	switch v.kind {
	case Bool:
		return strconv.FormatBool(v.Bool())
	case Int:
		return strconv.FormatInt(v.Int(), 10)
	case Float:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case Decimal:
		return string(AppendDecimal(nil, v.Decimal()))
	case DateTime:
		return v.Time().Format(time.RFC3339)
	case UUID:
		return string(AppendUUID(nil, v.UUID()))
	case String, Bytes:
		return v.excerpt(0)
	}
	return "absent"
}

// excerpt shows the bytes around a place, with the place and the length when something is left out.
func (v *Value) excerpt(at int) string {
	const before, most = 8, 40
	from := max(0, at-before)
	if v.kind == String {
		for from > 0 && from < len(v.bytes) && !utf8.RuneStart(v.bytes[from]) {
			from--
		}
	}
	from = min(from, len(v.bytes))
	piece := v.bytes[from:min(len(v.bytes), from+most)]
	text := strconv.Quote(string(piece))
	if v.kind == Bytes {
		text = hex.EncodeToString(piece[:min(len(piece), most/2)])
	}
	if len(piece) < len(v.bytes) {
		return fmt.Sprintf("byte %d of %d: %s", from, len(v.bytes), text)
	}
	return text
}

// shorten cuts a text for people.
func shorten(s string) string {
	if utf8.RuneCountInString(s) <= maxDiffText {
		return s
	}
	return string([]rune(s)[:maxDiffText-1]) + "…"
}

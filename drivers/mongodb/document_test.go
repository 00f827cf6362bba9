package mongodb

import (
	"math"
	"math/rand/v2"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// Decimals are made without the driver, so they must be what the driver makes of the same text.
func TestDecimalsAreWhatTheDriverMakesOfThem(t *testing.T) {
	units := []int64{0, 1, -1, 9999, 10000, -10000, 123456789, -5, math.MaxInt64, math.MinInt64, math.MinInt64 + 1}
	for range 1000 {
		units = append(units, int64(rand.Uint64())>>rand.IntN(63))
	}
	for _, n := range units {
		text := string(corpus.AppendDecimal(nil, n))
		want, err := bson.ParseDecimal128(text)
		if err != nil {
			t.Fatal(err)
		}
		high, low := decimal128(n)
		if got := bson.NewDecimal128(high, low); got != want {
			t.Errorf("%d units: %v, the driver makes %v of %s", n, got, want, text)
		}
		if back, err := unitsOf(want); err != nil || back != n {
			t.Errorf("%s comes back as %d units, %v", text, back, err)
		}
	}
}

// Documents of every kind of value, decimals included, are what the driver reads, and come back as the same row.
func TestDocumentsAreWhatTheDriverReads(t *testing.T) {
	for _, units := range []bool{false, true} {
		s, c := documents(t, units)
		var row, back corpus.Row
		var buffer corpus.KeyBuffer
		for index := range uint64(200) {
			c.Row(&row, index, 1)
			key := c.Key(&buffer, index)
			document, err := s.appendDocument(nil, &key, &row)
			if err != nil {
				t.Fatal(err)
			}
			var read bson.D
			if err := bson.Unmarshal(document, &read); err != nil || len(read) != len(s.fields)+1 {
				t.Fatalf("the driver reads %d fields of row %d: %v", len(read), index, err)
			}
			again, err := bson.Marshal(read)
			if err != nil || string(again) != string(document) {
				t.Errorf("row %d: the driver writes another document than it read, %v", index, err)
			}
			got, err := s.decode(document, &back)
			if err != nil || !got.Equal(key) {
				t.Fatalf("row %d: key %v, %v", index, got, err)
			}
			if column, want, got, same := corpus.Diff(c.Template(), &row, &back); !same {
				t.Errorf("row %d, %s: %s comes back as %s", index, column, want, got)
			}
		}
	}
}

func documents(t *testing.T, units bool) (*schema, *corpus.Corpus) {
	t.Helper()
	template, err := corpus.ParseTemplate(map[string]any{
		"blob": "bytes:0..30", "cash": "decimal:-1000..1000", "flag": "bool", "moment": "datetime", "number": "int", "real": "float:-5..5", "text": "text:0..100", "unique": "uuid",
		"tags": []any{"string:3", "int", "decimal"}, "deep": map[string]any{"more": map[string]any{"cash": "decimal", "list": []any{"bool"}}}, "vector": "vector:8",
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := corpus.New(1, template, corpus.KeyUUID, true)
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSchema(c, units)
	if err != nil {
		t.Fatal(err)
	}
	return s, c
}

// What somebody else wrote is an error, not another value.
func TestDocumentsOfOthersAreErrors(t *testing.T) {
	s, c := documents(t, false)
	var row, back corpus.Row
	var buffer corpus.KeyBuffer
	c.Row(&row, 1, 1)
	key := c.Key(&buffer, 1)
	document, err := s.appendDocument(nil, &key, &row)
	if err != nil {
		t.Fatal(err)
	}
	var good bson.D
	if err := bson.Unmarshal(document, &good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(bson.D) bson.D{
		"a field too many":  func(d bson.D) bson.D { return append(d, bson.E{Key: "other", Value: 1}) },
		"a key of text":     func(d bson.D) bson.D { d[0].Value = "text"; return d },
		"an int for a text": func(d bson.D) bson.D { return replace(d, "text", int64(1)) },
		"a text for an int": func(d bson.D) bson.D { return replace(d, "number", "12") },
		"an int32":          func(d bson.D) bson.D { return replace(d, "number", int32(12)) },
		"a double":          func(d bson.D) bson.D { return replace(d, "cash", 1.5) },
		"half a unit":       func(d bson.D) bson.D { v, _ := bson.ParseDecimal128("0.00005"); return replace(d, "cash", v) },
		"not a number":      func(d bson.D) bson.D { v, _ := bson.ParseDecimal128("NaN"); return replace(d, "cash", v) },
		"milliseconds":      func(d bson.D) bson.D { return replace(d, "moment", bson.DateTime(1)) },
		"a longer array":    func(d bson.D) bson.D { return replace(d, "tags", bson.A{"abc", int64(1), int64(2), int64(3)}) },
		"another member":    func(d bson.D) bson.D { return replace(d, "deep", bson.D{{Key: "less", Value: 1}}) },
		"a wide component":  func(d bson.D) bson.D { return replace(d, "vector", bson.A{0.1}) },
	} {
		changed, err := bson.Marshal(change(append(bson.D(nil), good...)))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.decode(changed, &back); err == nil {
			t.Errorf("%s is read without an error", name)
		}
	}
	for cut := range document {
		if _, err := s.decode(document[:cut], &back); err == nil {
			t.Errorf("%d bytes of %d are read without an error", cut, len(document))
		}
	}
}

func replace(d bson.D, name string, value any) bson.D {
	for i := range d {
		if d[i].Key == name {
			d[i].Value = value
		}
	}
	return d
}

// The tier is what the server says, and never more.
func TestTierIsWhatTheServerSays(t *testing.T) {
	for _, test := range []struct {
		values  map[string]string
		journal bool
		want    drivers.Tier
	}{
		{map[string]string{"storage engine": "wiredTiger", "persistent": "true"}, true, drivers.TierOS},
		{map[string]string{"storage engine": "wiredTiger", "persistent": "true"}, false, drivers.TierNone},
		{map[string]string{"storage engine": "wiredTiger", "persistent": "true", "journal": "false"}, true, drivers.TierNone},
		{map[string]string{"storage engine": "inMemory", "persistent": "false"}, true, drivers.TierNone},
		{map[string]string{"storage engine": "another", "persistent": "true"}, true, ""},
		{nil, true, ""},
	} {
		if got, reason := tierIn(test.values, test.journal); got != test.want || reason == "" {
			t.Errorf("%v, j: %v: tier %q because of %q, want %q", test.values, test.journal, got, reason, test.want)
		}
	}
}

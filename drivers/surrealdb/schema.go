package surrealdb

import (
	"fmt"
	"strings"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/drivers"
)

// schema is the shape of the table for a corpus.
type schema struct {
	template *corpus.Template
	key      corpus.KeyKind
	fields   []corpus.Field
}

func newSchema(c *corpus.Corpus) *schema {
	return &schema{template: c.Template(), key: c.KeyKind(), fields: c.Template().Columns()}
}

// name quotes the name of a field, so that it is nothing else than a name.
func name(field string) string {
	return "`" + strings.NewReplacer(`\`, `\\`, "`", "\\`").Replace(field) + "`"
}

// appendKey appends a key as the ID of a record: its table and a number, text or UUID.
func (s *schema) appendKey(dst []byte, key corpus.Key) ([]byte, error) {
	if key.Kind() != s.key {
		return dst, fmt.Errorf("key %q is of kind %q: the table's keys are of kind %q", key, key.Kind(), s.key)
	}
	dst = appendHead(appendHead(dst, majorTag, tagRecord), majorArray, 2)
	dst = appendText(dst, drivers.Table)
	switch key.Kind() {
	case corpus.KeyInteger:
		return appendInt(dst, key.Int()), nil
	case corpus.KeyUUID:
		return appendBytes(appendHead(dst, majorTag, tagUUID), key.Bytes()), nil
	}
	return appendText(dst, key.Bytes()), nil
}

// readKey reads the ID of a record. The key points into the data.
func (s *schema) readKey(from *scanner) (key corpus.Key, err error) {
	if err := from.tag(tagRecord); err != nil {
		return key, err
	}
	n, err := from.count(majorArray)
	if err != nil {
		return key, err
	}
	table, err := from.text()
	if err != nil || n != 2 || table != drivers.Table {
		return key, fmt.Errorf("the answer has the ID of a record of table %q, of %d parts: %w", table, n, err)
	}
	switch s.key {
	case corpus.KeyInteger:
		n, err := from.int()
		return corpus.IntegerKey(n), err
	case corpus.KeyUUID:
		if err := from.tag(tagUUID); err != nil {
			return key, err
		}
		b, err := from.bytes(majorBytes)
		if err != nil {
			return key, err
		}
		return corpus.ParseKey(s.key, b)
	}
	b, err := from.bytes(majorText)
	if err != nil {
		return key, err
	}
	return corpus.ParseKey(s.key, b)
}

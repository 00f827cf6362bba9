// Package kvscan runs scans on engines that keep keys and values and know nothing of what is in them: the agent goes through all keys, decodes the
// values that a condition looks at, and takes what it finds. That is on the clock, for it is what a user of such an engine has to do. What would
// be the agent's work alone is refused: there is no order, and nothing is added up.
//
// Rows are in an answer as two cells, the key in its ordered form and the value in the corpus's binary form; of an ID scan as the key alone.
package kvscan

import (
	"errors"
	"fmt"
	"sync"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
)

// Can returns nil when a scan can be run on such an engine, drivers.Unsupported with the reason when not.
func Can(engine string, s *query.Scan) error {
	why := ""
	switch {
	case s.Raw != nil:
		why = "has no query language, so there is nothing to say in its own words"
	case len(s.Aggregates) > 0:
		why = "adds nothing up: the agent would be measured"
	case s.After != nil:
		why = "keeps its keys in no order, so that a page after a key would need all of them"
	case len(s.Order) > 0:
		why = "keeps its rows in no order: the agent would be measured at sorting them"
	default:
		return nil
	}
	return drivers.Unsupported{Why: engine + " " + why}
}

// Scan is a scan that is ready to be run, by several goroutines at once.
type Scan struct {
	*query.Scan
	template *corpus.Template
	rows     sync.Pool // of *corpus.Row, to decode in
}

// New readies a scan that Can lets through. Its condition must be bound.
func New(template *corpus.Template, s *query.Scan) *Scan {
	return &Scan{Scan: s, template: template, rows: sync.Pool{New: func() any { return new(corpus.Row) }}}
}

// NeedsValues tells whether the scan looks at values at all.
func (s *Scan) NeedsValues() bool { return s.Where != nil || s.Project == query.Full }

// errEnough ends a walk early.
var errEnough = errors.New("enough rows")

// Run takes what the scan finds into the answer. Each walks the engine's rows, none twice, until visit returns an error, which it returns; value is
// not looked at where NeedsValues is false. Key and value are only valid during the call.
func (s *Scan) Run(answer *drivers.Answer, each func(visit func(key, value []byte) error) error) error {
	answer.Reset()
	row := s.rows.Get().(*corpus.Row)
	defer s.rows.Put(row)
	var found, taken int64
	err := each(func(key, value []byte) error {
		if s.Where != nil {
			if err := corpus.ParseBinary(s.template, value, row); err != nil {
				return fmt.Errorf("row of key %x: %w", key, err)
			}
			if !query.Matches(s.Where, row) {
				return nil
			}
		}
		if found++; found <= s.Offset {
			return nil
		}
		taken++
		if s.Project != query.Count {
			if err := Take(answer, key, value, s.Project == query.Full); err != nil {
				return err
			}
		}
		if taken == s.Limit {
			return errEnough
		}
		return nil
	})
	if s.Project == query.Count {
		answer.Count, answer.Size = taken, 8
	}
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// Take puts a row into the answer.
func Take(answer *drivers.Answer, key, value []byte, full bool) error {
	size := len(key)
	answer.Bytes = append(answer.Bytes, key...)
	answer.Ends = append(answer.Ends, len(answer.Bytes))
	if full {
		size += len(value)
		answer.Bytes = append(answer.Bytes, value...)
		answer.Ends = append(answer.Ends, len(answer.Bytes))
	}
	return answer.Row(int64(size))
}

// Decode hands each row that the answer kept to each.
func Decode(c *corpus.Corpus, answer *drivers.Answer, full bool, each func(corpus.Key, *corpus.Row) error) error {
	width := 1
	if full {
		width = 2
	}
	if len(answer.Ends)%width != 0 {
		return fmt.Errorf("the answer has %d cells, which is no multiple of the %d of a row", len(answer.Ends), width)
	}
	var row corpus.Row
	start := 0
	for at := 0; at < len(answer.Ends); at += width {
		key, err := corpus.ParseKey(c.KeyKind(), answer.Bytes[start:answer.Ends[at]])
		if err != nil {
			return fmt.Errorf("key: %w", err)
		}
		start = answer.Ends[at]
		row.Reset(c.Template())
		if full {
			if err := corpus.ParseBinary(c.Template(), answer.Bytes[start:answer.Ends[at+1]], &row); err != nil {
				return fmt.Errorf("row of key %s: %w", key, err)
			}
			start = answer.Ends[at+1]
		}
		if err := each(key, &row); err != nil {
			return err
		}
	}
	return nil
}

// DecodeScan is Decode for the answer to a scan.
func (s *Scan) DecodeScan(c *corpus.Corpus, answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	if s.Project == query.Count {
		return fmt.Errorf("scan %s returns no rows", s.ID)
	}
	return Decode(c, answer, s.Project == query.Full, each)
}

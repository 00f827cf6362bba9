package respbase

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"strconv"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/query"
	"github.com/durabench/durabench/drivers"
	"github.com/durabench/durabench/drivers/kvscan"
)

// CanScan refuses what the family has nothing for.
func (c *client) CanScan(s *query.Scan) error { return kvscan.Can("a key-value store", s) }

// PrepareScan keeps the scan.
func (c *client) PrepareScan(_ context.Context, s *query.Scan) (drivers.Statement, error) {
	if err := c.CanScan(s); err != nil {
		return nil, err
	}
	return kvscan.New(c.database.template, s), nil
}

// Scan goes through all of our keys by SCAN and gets their values by MGET where they are looked at: two round trips for scanCount keys. A SCAN may show
// a key twice, so the keys that were seen are remembered. A row that comes or goes meanwhile may be in the answer or not.
func (c *client) Scan(ctx context.Context, statement drivers.Statement, answer *drivers.Answer) error {
	s := statement.(*kvscan.Scan)
	if err := s.Run(answer, func(visit func(key, value []byte) error) error { return c.walk(ctx, s, visit) }); err != nil {
		return fmt.Errorf("scan %s: %w", s.ID, err)
	}
	return nil
}

// walk visits every key of ours once.
func (c *client) walk(ctx context.Context, s *kvscan.Scan, visit func(key, value []byte) error) error {
	count := int64(scanCount)
	if s.Where == nil && s.Limit > 0 {
		count = min(count, s.Offset+s.Limit)
	}
	var values drivers.Record
	seen, seed := make(map[uint64]struct{}), maphash.MakeSeed()
	return c.pages(ctx, count, func(keys [][]byte) error {
		first := keys[:0]
		for _, key := range keys {
			hash := maphash.Bytes(seed, key)
			if _, twice := seen[hash]; !twice {
				seen[hash] = struct{}{}
				first = append(first, key)
			}
		}
		return c.visit(ctx, s, first, &values, visit)
	})
}

// pages goes through all of our keys, about so many at a time. A key may come twice.
func (c *client) pages(ctx context.Context, count int64, each func(keys [][]byte) error) error {
	var page drivers.Record
	var keys [][]byte
	for cursor := "0"; ; {
		err := c.list(ctx, &page, func(request []byte) []byte {
			request = appendBulk(appendCommand(request, "SCAN", 5), []byte(cursor))
			request = append(request, "$5\r\nMATCH\r\n"...)
			request = appendBulk(request, []byte(prefix+"*"))
			request = append(request, "$5\r\nCOUNT\r\n"...)
			return appendBulk(request, strconv.AppendInt(nil, count, 10))
		})
		if err != nil {
			return err
		}
		if len(page.Ends) == 0 || page.Ends[0] < 0 {
			return errors.New("the answer to SCAN has no cursor")
		}
		start := page.Ends[0]
		cursor = string(page.Bytes[:start])
		keys = keys[:0]
		for _, end := range page.Ends[1:] {
			if end < 0 {
				return errors.New("the answer to SCAN has a key that is nil")
			}
			keys = append(keys, page.Bytes[start:end])
			start = end
		}
		if err := each(keys); err != nil || cursor == "0" {
			return err
		}
	}
}

// visit gets the values of the keys, if they are needed, and visits each.
func (c *client) visit(ctx context.Context, s *kvscan.Scan, keys [][]byte, values *drivers.Record, visit func(key, value []byte) error) error {
	if s.NeedsValues() && len(keys) > 0 {
		err := c.list(ctx, values, func(request []byte) []byte {
			request = appendCommand(request, "MGET", len(keys))
			for _, key := range keys {
				request = appendBulk(request, key)
			}
			return request
		})
		if err != nil {
			return err
		}
		if len(values.Ends) != len(keys) {
			return fmt.Errorf("%d values for %d keys", len(values.Ends), len(keys))
		}
	}
	start := 0
	for i, key := range keys {
		var value []byte
		if s.NeedsValues() {
			end := values.Ends[i]
			if end < 0 {
				continue // deleted meanwhile
			}
			value, start = values.Bytes[start:end], end
		}
		if err := visit(key[len(prefix):], value); err != nil {
			return err
		}
	}
	return nil
}

// list sends a command whose answer is an array and takes it into rec.
func (c *client) list(ctx context.Context, rec *drivers.Record, request func([]byte) []byte) error {
	rec.Reset()
	seat, err := c.link.Take(ctx)
	if err != nil {
		return err
	}
	defer c.link.Give(seat)
	seat.Kind = list
	seat.Request = request(seat.Request)
	if err := c.link.Do(ctx, seat); err != nil {
		return err
	}
	*rec, seat.Record = seat.Record, *rec
	return nil
}

// DecodeScan takes the cells apart.
func (c *client) DecodeScan(statement drivers.Statement, answer *drivers.Answer, each func(corpus.Key, *corpus.Row) error) error {
	return statement.(*kvscan.Scan).DecodeScan(c.database.load.Corpus, answer, each)
}

// DecodeGroups has nothing to decode: scans with aggregates are refused.
func (c *client) DecodeGroups(drivers.Statement, *drivers.Answer) ([]query.Group, error) {
	return nil, errors.New("there are no groups")
}

var _ drivers.Scanner = (*client)(nil)

package drivers

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
)

// mapClient keeps the version of each integer key.
type mapClient struct {
	Client
	corpus   *corpus.Corpus
	versions map[int64]uint32
	broken   int64 // a key that cannot be written
}

func (m *mapClient) Create(_ context.Context, key corpus.Key, row *corpus.Row) error {
	if key.Int() == m.broken {
		return errors.New("disk on fire")
	}
	if _, taken := m.versions[key.Int()]; taken {
		return ErrExists
	}
	m.versions[key.Int()] = row.Version
	return nil
}

func (m *mapClient) Update(_ context.Context, key corpus.Key, row *corpus.Row) error {
	m.versions[key.Int()] = row.Version
	return nil
}

func TestLoadRowsWithoutALoaderMayBeRepeated(t *testing.T) {
	c := loadCorpus(t)
	client := &mapClient{corpus: c, versions: make(map[int64]uint32)}
	for _, span := range [][3]uint64{{0, 10, 0}, {0, 10, 0}, {5, 12, 1}, {7, 7, 3}} {
		if err := LoadRows(t.Context(), client, c, span[0], span[1], uint32(span[2])); err != nil {
			t.Fatal(err)
		}
	}
	if len(client.versions) != 12 || client.versions[5] != 0 || client.versions[6] != 1 || client.versions[12] != 1 {
		t.Errorf("versions by key: %v", client.versions)
	}
	client.broken = 3
	if err := LoadRows(t.Context(), client, c, 0, 10, 0); err == nil || !strings.Contains(err.Error(), "row 2") {
		t.Errorf("error %v, want one that names the row", err)
	}
}

// bulkClient is a Loader.
type bulkClient struct {
	Client
	got [3]uint64
}

func (b *bulkClient) Load(_ context.Context, from, to uint64, version uint32) error {
	b.got = [3]uint64{from, to, uint64(version)}
	return nil
}

func TestLoadRowsUsesTheLoader(t *testing.T) {
	client := &bulkClient{}
	if err := LoadRows(t.Context(), client, loadCorpus(t), 3, 9, 1); err != nil || client.got != [3]uint64{3, 9, 1} {
		t.Errorf("the loader got %v, error %v", client.got, err)
	}
}

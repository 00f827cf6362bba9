package configs

import (
	"io/fs"
	"slices"
	"testing"

	"github.com/durabench/durabench/bench/corpus"
	"github.com/durabench/durabench/bench/spec"
)

func TestEveryShippedConfigParses(t *testing.T) {
	names := Names()
	if !slices.Contains(names, Default()) || Default() != spec.DefaultConfig {
		t.Errorf("the default %s is not among %v", Default(), names)
	}
	for _, name := range names {
		data, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := spec.Parse(name+".toml", data); err != nil {
			t.Error(err)
		}
		if _, err := fs.Stat(Files(), name+".toml"); err != nil {
			t.Error(err)
		}
	}
	if _, err := Read("crude"); err == nil {
		t.Error("a config that does not ship was read")
	}
}

// Rows of the default are about as large as those of crud-bench's default, so that figures can be set side by side.
func TestDefaultRowsAreAboutOneKilobyte(t *testing.T) {
	data, err := Read(Default())
	if err != nil {
		t.Fatal(err)
	}
	file, err := spec.Parse("crud.toml", data)
	if err != nil {
		t.Fatal(err)
	}
	template, err := corpus.ParseTemplate(file.Value)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := corpus.New(1, template, corpus.KeyInteger, false)
	if err != nil {
		t.Fatal(err)
	}
	var row corpus.Row
	const n = 1000
	size := 0
	for i := range uint64(n) {
		rows.Row(&row, i, 0)
		size += len(row.AppendJSON(nil, template))
	}
	if mean := size / n; mean < 900 || mean > 1150 {
		t.Errorf("a row takes %d bytes as JSON", mean)
	} else {
		t.Logf("a row takes %d bytes as JSON", mean)
	}
}

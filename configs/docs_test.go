package configs

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/durabench/durabench/bench/dataset/datasettest"
	"github.com/durabench/durabench/bench/spec"
)

// documented is what the examples of docs/workloads.md are about.
const documented = `[value]
number = "int:1..5000"
active = "bool"
score = "float:0..100"
price = "decimal"
city = "string_enum:London,Rome"
tags = ["string_enum:alpha,beta,gamma"]
words = "words:100;hello,world"
created_at = "datetime"
geography = { code = "string:3" }
`

// loadBesideItsFiles builds a spec of an example about files of vectors, which are written beside it.
func loadBesideItsFiles(t *testing.T, example string) {
	t.Helper()
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "sift"), 0o755); err != nil {
		t.Fatal(err)
	}
	base, queries := datasettest.Vectors(1, 100, 128), datasettest.Vectors(2, 10, 128)
	datasettest.File(t, folder, "sift/sift_base.fvecs", datasettest.Vecs(base))
	datasettest.File(t, folder, "sift/sift_query.fvecs", datasettest.Vecs(queries))
	datasettest.File(t, folder, "sift/sift_groundtruth.ivecs", datasettest.Vecs(datasettest.Truth(base, queries, 10)))
	set := pflag.NewFlagSet("run", pflag.ContinueOnError)
	flags := spec.NewFlags(set)
	if err := set.Parse([]string{"-d", "sqlite", "-s", "100", "--config", datasettest.File(t, folder, "example.toml", []byte(example))}); err != nil {
		t.Fatal(err)
	}
	request, err := spec.Build(flags, nil, spec.Facts{Engines: []spec.EngineFacts{{Name: "sqlite", Servers: []string{"embedded"}}}})
	if err != nil {
		t.Errorf("%s\n%v", example, err)
	} else if request.Spec.Datasets["sift"].Truth == nil {
		t.Errorf("the data sets are %+v", request.Spec.Datasets)
	}
}

// TestDocumentedExamplesLoad builds a spec of each example in docs/workloads.md.
func TestDocumentedExamplesLoad(t *testing.T) {
	text, err := os.ReadFile("../docs/workloads.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```toml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 4 {
		t.Fatalf("%d examples", len(blocks))
	}
	load := func(name, file string) {
		set := pflag.NewFlagSet("run", pflag.ContinueOnError)
		flags := spec.NewFlags(set)
		if err := set.Parse([]string{"-d", "sqlite", "-s", "1M"}); err != nil {
			t.Fatal(err)
		}
		parsed, _ := spec.Parse(name, []byte(file)) // Build reports the problems
		facts := spec.Facts{Shipped: Files(), Engines: []spec.EngineFacts{{Name: "sqlite", Servers: []string{"embedded"}, Dialects: []string{"sqlite", "sql"}}}}
		if _, err := spec.Build(flags, parsed, facts); err != nil {
			t.Errorf("%s:\n%s\n%v", name, file, err)
		}
	}
	scan := func(body string) string { return documented + "[[scans]]\nid = \"a\"\nname = \"a\"\n" + body }
	for i, block := range blocks {
		name, example := fmt.Sprintf("example %d", i+1), block[1]
		switch {
		case strings.Contains(example, "[datasets."):
			loadBesideItsFiles(t, example)
		case strings.Contains(example, "[[scans]]"):
			load(name, example)
		case strings.Contains(example, "aggregates"): // which go with no order
			rows, groups, _ := strings.Cut(example, "aggregates")
			offset, after, _ := strings.Cut(rows, "after")
			load(name, scan(offset))
			load(name, scan("limit = 100\nafter"+after))
			load(name, scan("aggregates"+groups))
		case strings.Contains(example, "condition"):
			load(name, scan(strings.Replace(example, "index_type = \"fulltext\"", "skip = false", 1)))
		default:
			for line := range strings.Lines(example) {
				load(name, scan(line))
			}
		}
	}
}

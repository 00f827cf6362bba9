package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The matrix file that docs/matrices.md explains can be planned, with cells of every kind.
func TestDocumentedMatrixIsPlanned(t *testing.T) {
	text, err := os.ReadFile("../docs/matrices.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(text), "```toml\n")
	file, _, found := strings.Cut(after, "```")
	if !found {
		t.Fatal("there is no example")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("my-scans.toml", "[[mixes]]\nname = \"mine\"\nweights = { read = 100 }\niterations = 100\n")
	planned, err := planMatrix(write("night.toml", file))
	if err != nil {
		t.Fatal(err)
	}
	var readers, images int
	for _, cell := range planned.Cells {
		if cell.Spec != nil && cell.Spec.Engine["readers"] == "4" {
			readers++
		}
		if cell.Spec != nil && cell.Spec.Image == "postgres:18" {
			images++
		}
	}
	if len(planned.Cells) < 12 || readers == 0 || images != 1 {
		t.Errorf("%d cells, %d with readers, %d of the image", len(planned.Cells), readers, images)
	}
}

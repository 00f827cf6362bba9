// Package architecture holds the test of the dependency arrows of docs/architecture.md.
package architecture

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/durabench/durabench/"

// forbidden lists, for each folder, the folders its packages must not import, tests excluded. The arrows point one way: starter and
// workers to workflows and activities, these to drivers and infra, all to bench.
var forbidden = map[string][]string{
	"bench":      {"starter", "workers", "workflows", "activities", "drivers", "infra"},
	"drivers":    {"starter", "workers", "workflows", "activities", "infra"},
	"infra":      {"starter", "workers", "workflows", "activities"},
	"workflows":  {"starter", "workers", "drivers", "infra"},
	"activities": {"starter"},
	"workers":    {"starter"},
}

// foreign lists modules that a folder must not reach, even through others of our packages.
var foreign = map[string][]string{
	"bench":   {"go.temporal.io/", "github.com/jackc/", "github.com/redis/"},
	"drivers": {"go.temporal.io/"},
}

func TestDependenciesPointOneWay(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports,Deps", module+"...").Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	type listed struct {
		ImportPath    string
		Imports, Deps []string
	}
	var packages []listed
	forTests := map[string]bool{} // packages that import testing, which only tests may import
	for decoder := json.NewDecoder(strings.NewReader(string(out))); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
		forTests[p.ImportPath] = slices.Contains(p.Imports, "testing")
	}
	for _, p := range packages {
		if forTests[p.ImportPath] {
			continue
		}
		for _, imported := range p.Imports {
			if forTests[imported] {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, imported)
			}
		}
		folder, _, _ := strings.Cut(strings.TrimPrefix(p.ImportPath, module), "/")
		for _, other := range forbidden[folder] {
			for _, imported := range p.Imports {
				if imported == module+other || strings.HasPrefix(imported, module+other+"/") {
					t.Errorf("%s imports %s: %s must not import %s", p.ImportPath, imported, folder, other)
				}
			}
		}
		for _, prefix := range foreign[folder] {
			for _, dependency := range p.Deps {
				if strings.HasPrefix(dependency, prefix) {
					t.Errorf("%s depends on %s: %s must not reach %s", p.ImportPath, dependency, folder, prefix)
				}
			}
		}
	}
	if len(packages) < 10 {
		t.Fatalf("looked at %d packages only: the list command does not see the module", len(packages))
	}
}

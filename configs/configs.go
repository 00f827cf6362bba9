// Package configs holds the workload files that ship with the program, so that --config finds them by name wherever it runs.
package configs

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.toml
var files embed.FS

// Files returns the files, each named with its ".toml".
func Files() fs.FS { return files }

// Default returns the name of the file whose value template is used when none is given.
func Default() string { return "crud" }

// Names returns the names of the files without ".toml", in order.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = strings.TrimSuffix(entry.Name(), ".toml")
	}
	return names
}

// Read returns the file of that name, given without ".toml".
func Read(name string) ([]byte, error) {
	data, err := files.ReadFile(name + ".toml")
	if err != nil {
		return nil, fmt.Errorf("read shipped config %s: none of that name ships, only %s", name, strings.Join(Names(), ", "))
	}
	return data, nil
}

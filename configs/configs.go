// Package configs holds the workload and matrix files that ship with the program, so that --config and --matrix find them by name
// wherever it runs.
package configs

import (
	"embed"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed *.toml matrices/*.toml
var files embed.FS

// Files returns the workload files, each named with its ".toml".
func Files() fs.FS { return files }

// Matrices returns the matrix files, each named with its ".toml".
func Matrices() fs.FS {
	matrices, err := fs.Sub(files, "matrices")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return matrices
}

// Default returns the name of the file whose value template is used when none is given.
func Default() string { return "crud" }

// Names returns the names of the files without ".toml", in order.
func Names() []string { return namesIn(".") }

// MatrixNames returns the names of the matrix files without ".toml", in order.
func MatrixNames() []string { return namesIn("matrices") }

func namesIn(folder string) []string {
	entries, err := files.ReadDir(folder)
	if err != nil {
		panic(err) // the folder is part of the program
	}
	var names []string
	for _, entry := range entries {
		if !entry.IsDir() {
			names = append(names, strings.TrimSuffix(entry.Name(), ".toml"))
		}
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

//go:build !linux

package sqlite

// filesystem is where the database's files are. Only Linux is asked.
type filesystem struct {
	name     string
	volatile bool
}

func filesystemOf(string) filesystem { return filesystem{} }

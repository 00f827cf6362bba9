package host

import (
	"slices"
	"strings"

	"github.com/prometheus/procfs"
)

// tellingOptions begin the mount options that change how durable or how fast a database's files are. Others, such as identities and
// sizes, only make fingerprints differ.
var tellingOptions = []string{
	"ro", "sync", "dirsync", "noatime", "nodiratime", "relatime", "strictatime", "lazytime", "discard", "dax", "barrier", "nobarrier",
	"data", "commit", "journal_async_commit", "nodelalloc", "compress", "compress-force", "nodatacow", "nodatasum", "ssd", "autodefrag",
	"logbsize", "volatile", "cache",
}

// mountOf returns the mount that dir is on, or will be when it is made; nil when that cannot be read.
func (s system) mountOf(dir string) *procfs.MountInfo {
	fs, err := procfs.NewFS(s.path("proc"))
	if err != nil {
		return nil
	}
	mounts, err := fs.GetMounts()
	if err != nil {
		return nil
	}
	dir = existing(dir)
	var found *procfs.MountInfo
	for _, mount := range mounts {
		point := unescape(mount.MountPoint)
		// Of mounts on the same point the last one is seen.
		if within(dir, point) && (found == nil || len(point) >= len(unescape(found.MountPoint))) {
			found = mount
		}
	}
	return found
}

// filesystem names the filesystem that dir is on, or will be when it is made, and its telling mount options: "ext4, discard, relatime".
func (s system) filesystem(dir string) string {
	found := s.mountOf(dir)
	if found == nil {
		return ""
	}
	words := []string{}
	for _, options := range []map[string]string{found.Options, found.SuperOptions} {
		for name, value := range options {
			if !slices.Contains(tellingOptions, name) {
				continue
			}
			if value != "" {
				name += "=" + value
			}
			words = append(words, name)
		}
	}
	slices.Sort(words)
	return strings.Join(append([]string{found.FSType}, slices.Compact(words)...), ", ")
}

func within(dir, point string) bool {
	return point == "/" || dir == point || strings.HasPrefix(dir, point+"/")
}

// unescape undoes the octal escapes that mountinfo has for white space and backslashes.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}

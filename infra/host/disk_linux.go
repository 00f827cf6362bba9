package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/prometheus/procfs"

	"github.com/durabench/durabench/bench/result"
)

// disk describes the device that dir is on; nil when it is on none, as a filesystem in memory, or it cannot be told.
func (s system) disk(dir string) *result.Disk {
	mount := s.mountOf(dir)
	if mount == nil {
		return nil
	}
	device := s.blockDevice(mount)
	if device == "" {
		return nil
	}
	d := &result.Disk{
		Model:      strings.Join(s.models(device, 0), ", "),
		WriteCache: s.queue(device, "write_cache"),
		Scheduler:  chosen(s.queue(device, "scheduler")),
	}
	if d.Scheduler == "" {
		d.Scheduler = s.queue(device, "scheduler") // the only one stands without brackets
	}
	switch s.queue(device, "rotational") {
	case "1":
		d.Rotational = new(true)
	case "0":
		d.Rotational = new(false)
	}
	if *d == (result.Disk{}) {
		return nil
	}
	return d
}

// blockDevice returns the directory below /sys of the whole disk that a mount is on.
func (s system) blockDevice(mount *procfs.MountInfo) string {
	candidates := []string{filepath.Join("sys/dev/block", mount.MajorMinorVer)}
	if name, ok := strings.CutPrefix(mount.Source, "/dev/"); ok { // btrfs and others number their mounts themselves
		candidates = append(candidates, filepath.Join("sys/class/block", filepath.Base(name)))
	}
	for _, candidate := range candidates {
		real, err := filepath.EvalSymlinks(s.path(candidate))
		if err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(real, "partition")); err == nil {
			real = filepath.Dir(real)
		}
		return real
	}
	return ""
}

func (s system) queue(device, name string) string {
	text, err := os.ReadFile(filepath.Join(device, "queue", name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// models returns the models of a device, or of those that it is made of.
func (s system) models(device string, depth int) []string {
	const most = 8 // levels of mapping
	parts, err := filepath.Glob(filepath.Join(device, "slaves", "*"))
	if err == nil && len(parts) > 0 && depth < most {
		var all []string
		for _, part := range parts {
			real, err := filepath.EvalSymlinks(part)
			if err != nil {
				continue
			}
			if _, err := os.Stat(filepath.Join(real, "partition")); err == nil {
				real = filepath.Dir(real)
			}
			all = append(all, s.models(real, depth+1)...)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	if text, err := os.ReadFile(filepath.Join(device, "device", "model")); err == nil {
		if model := strings.Join(strings.Fields(string(text)), " "); model != "" {
			return []string{model}
		}
	}
	// Paravirtual disks have no model; what drives them is the best there is.
	if driver, err := os.Readlink(filepath.Join(device, "device", "driver")); err == nil {
		return []string{filepath.Base(driver)}
	}
	return nil
}

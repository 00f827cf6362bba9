package sqlite

import "golang.org/x/sys/unix"

// filesystem is where the database's files are.
type filesystem struct {
	name     string // "" when it is of no kind that matters here
	volatile bool   // kept in memory: a flush does nothing
}

func filesystemOf(dir string) filesystem {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return filesystem{}
	}
	switch int64(stat.Type) {
	case unix.TMPFS_MAGIC:
		return filesystem{"tmpfs", true}
	case unix.RAMFS_MAGIC:
		return filesystem{"ramfs", true}
	case unix.EXT4_SUPER_MAGIC:
		return filesystem{"ext", false}
	case unix.XFS_SUPER_MAGIC:
		return filesystem{"xfs", false}
	case unix.BTRFS_SUPER_MAGIC:
		return filesystem{"btrfs", false}
	case unix.OVERLAYFS_SUPER_MAGIC:
		return filesystem{"overlayfs", false}
	case unix.NFS_SUPER_MAGIC:
		return filesystem{"nfs", false}
	}
	return filesystem{}
}

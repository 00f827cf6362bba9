package process

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// accounts are those that a server runs as which refuses to run as root, the preferred first.
var accounts = []string{"postgres", "nobody"}

// account is an account of the system.
type account struct {
	name     string
	uid, gid uint32
	groups   []uint32
}

// unprivileged returns an account for a server that refuses to run as root; nil when we are not root.
func unprivileged() (*account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range accounts {
		u, err := user.Lookup(name)
		if errors.As(err, new(user.UnknownUserError)) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look up account %s: %w", name, err)
		}
		return newAccount(u)
	}
	return nil, fmt.Errorf("%w: it refuses to run as root, and there is no account %s to run it: make one, or run as another user",
		ErrAccount, strings.Join(accounts, " or "))
}

func newAccount(u *user.User) (*account, error) {
	a := &account{name: u.Username}
	ids, err := u.GroupIds()
	if err != nil {
		ids = nil // its own group will do
	}
	for i, text := range append([]string{u.Uid, u.Gid}, ids...) {
		id, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("account %s has id %q: %w", u.Username, text, err)
		}
		switch i {
		case 0:
			a.uid = uint32(id)
		case 1:
			a.gid = uint32(id)
		default:
			a.groups = append(a.groups, uint32(id))
		}
	}
	return a, nil
}

// passes makes sure that the account can get to the directory: each directory above it must let the account through.
func (a *account) passes(dir, engine string) error {
	for path := dir; ; path = filepath.Dir(path) {
		info, err := os.Stat(path)
		if err != nil {
			return directoryError(path, err)
		}
		if !a.mayPass(info) {
			return fmt.Errorf("%w: account %q, which has to run %s because it refuses to run as root, may not pass through %s: "+
				"allow it with chmod o+x %s, or choose another directory than %s", ErrDirectory, a.name, engine, path, path, dir)
		}
		if path == filepath.Dir(path) {
			return nil
		}
	}
}

func (a *account) mayPass(info os.FileInfo) bool {
	mode := info.Mode().Perm()
	owner, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && owner.Uid == a.uid:
		return mode&0o100 != 0
	case ok && (owner.Gid == a.gid || slices.Contains(a.groups, owner.Gid)):
		return mode&0o010 != 0
	}
	return mode&0o001 != 0
}

// credential is the account for os/exec.
func (a *account) credential() *syscall.Credential {
	if a == nil {
		return nil
	}
	return &syscall.Credential{Uid: a.uid, Gid: a.gid, Groups: a.groups}
}

package docker

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/durabench/durabench/drivers"
)

// Paths in a container.
const (
	volumeDir    = "/durabench" // where the volume is mounted
	serverDir    = volumeDir + "/server"
	dataDir      = serverDir + "/data"
	passwordFile = volumeDir + "/password"
	readyFile    = volumeDir + "/ready"
)

const (
	// anywhere is the address that a server in a container listens on, loopback where its port is published.
	anywhere = "0.0.0.0"
	loopback = "127.0.0.1"
	// usualFiles is how many open files engines have begun to leave containers with, and ownFiles how many of these a server may need beside its
	// connections. manyFiles is asked for where that is too little.
	usualFiles, ownFiles, manyFiles = 1024, 512, 65_536
	// usualSharedMemory is what engines give a container.
	usualSharedMemory = 64 << 20
)

// Spec is how a container is to be made, as plain data.
type Spec struct {
	Name    string            `json:"name"`
	Image   string            `json:"image"`
	Command []string          `json:"command"`       // follows the entrypoint of the image
	Env     map[string]string `json:"env,omitempty"` // beside the image's own
	// Files are copied into the launch directory, by their path below it.
	Files map[string]string `json:"files,omitempty"`
	// Port is the server's port in the container.
	Port   int    `json:"port"`
	Volume string `json:"volume"`
	// Limits are resource limits by name, as the drivers.Server has them.
	Limits       map[string]int64 `json:"limits,omitempty"`
	SharedMemory int64            `json:"sharedMemory"`     // bytes
	CPUs         string           `json:"cpus,omitempty"`   // the CPU set
	MemoryBytes  int64            `json:"memory,omitempty"` // 0 for no limit
	StopSignal   string           `json:"stopSignal"`
	// Settings are what the profile sets. They are in the command or the files.
	Settings []drivers.Setting `json:"-"`
}

// spec is the container of these options. It is a pure function of them.
func (o *Options) spec(password string) (Spec, error) {
	l := o.launch(password)
	s := Spec{
		Name: objectName(o.Name, o.RunID), Image: o.Image, Command: o.Server.Command(l), Port: o.Server.Port, Volume: o.volume(), Limits: o.limits(),
		SharedMemory: o.sharedMemory(l), CPUs: o.CPUs, MemoryBytes: o.MemoryBytes, Settings: l.Settings,
		StopSignal: unix.SignalName(cmp.Or(syscall.Signal(o.Server.StopSignal), syscall.SIGTERM)), // by name, as numbers differ between systems
	}
	if len(s.Command) == 0 {
		return Spec{}, fmt.Errorf("%w: the engine gives no command", ErrOptions)
	}
	if o.Server.Env != nil {
		s.Env = o.Server.Env(l)
	}
	if o.Server.Files != nil {
		s.Files = o.Server.Files(l)
	}
	for name := range s.Files {
		if !localPath(name) {
			return Spec{}, fmt.Errorf("%w: file %q is not below the launch directory", ErrOptions, name)
		}
	}
	if password != "" && strings.Contains(strings.Join(s.Command, "\n"), password) {
		return Spec{}, fmt.Errorf("%w: the engine puts the password on the command line, where every user of the machine can read it", ErrOptions)
	}
	return s, nil
}

// digest names all that decides how the container runs. It must be of a specification without password, so that it tells nothing of it.
//
// The image is in it by its name, not its content: a start that is tried again finds its container even when the name has moved on meanwhile.
func (s Spec) digest() string {
	h := sha256.New()
	_ = json.NewEncoder(h).Encode(s)
	return hex.EncodeToString(h.Sum(nil))
}

// launch is the launch as the server sees it, from within the container.
func (o *Options) launch(password string) drivers.Launch {
	l := drivers.Launch{
		Container: true, Binary: o.Binary, Dir: serverDir, Data: dataDir, Host: anywhere, Port: o.Server.Port, Password: password,
		Profile: o.Profile, Tier: o.Tier, Connections: o.Connections,
	}
	if o.Server.Settings != nil {
		l.Settings = o.Server.Settings(o.Profile, o.Tier, o.Resources)
	}
	return l
}

// volume is the name of the volume: the run's own unless another was named.
func (o *Options) volume() string {
	if o.Volume != "" {
		return o.Volume
	}
	return objectName("run", o.RunID)
}

// limits are those that the server wants. What is not in them is the engine's.
func (o *Options) limits() map[string]int64 {
	limits := make(map[string]int64)
	if o.Connections+ownFiles > usualFiles {
		limits["nofile"] = max(manyFiles, 2*int64(o.Connections)+ownFiles)
	}
	maps.Copy(limits, o.Server.Limits)
	return limits
}

// sharedMemory is the size of /dev/shm: what the settings may come to use, but no more than half of the memory, as the kernel has it for such file
// systems. It costs nothing until it is used.
func (o *Options) sharedMemory(l drivers.Launch) int64 {
	if o.Server.SharedMemory == nil {
		return usualSharedMemory
	}
	size := max(o.Server.SharedMemory(l), usualSharedMemory)
	if half := o.Resources.MemoryBytes / 2; half > 0 {
		size = min(size, max(half, usualSharedMemory))
	}
	return size
}

// localPath tells whether a path stays below the directory that it is relative to. The container's paths have slashes on every system.
func localPath(name string) bool {
	return name != "" && !path.IsAbs(name) && path.Clean(name) == name && name != "." && name != ".." && !strings.HasPrefix(name, "../")
}

package process

import "github.com/durabench/durabench/drivers"

// Installed returns the server's binary on this machine; ErrNotInstalled says what to install.
func Installed(server *drivers.Server) (string, error) { return findBinary(server, "") }

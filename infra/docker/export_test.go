package docker

import "time"

// SetPatience shortens how long a container that was made may take to be started.
func (c *Client) SetPatience(patience time.Duration) { c.patience = patience }

// SetPullPause sets how long a pull that failed waits before it is tried again.
func (c *Client) SetPullPause(pause time.Duration) { c.pullPause = pause }

package docker

import "time"

// SetPatience shortens how long a container that was made may take to be started.
func (c *Client) SetPatience(patience time.Duration) { c.patience = patience }

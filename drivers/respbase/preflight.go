package respbase

import (
	"context"
	"fmt"
	"strconv"

	"github.com/redis/rueidis"

	"github.com/durabench/durabench/drivers/wire"
)

// controlConnections are those beside the measured ones: one at a time, to scan keys and read settings.
const controlConnections = 1

// Preflight makes sure that the server can be written to and has connections enough.
func (d *database) Preflight(ctx context.Context) error {
	if err := wire.CheckFiles(connections(d.load)); err != nil {
		return fmt.Errorf("preflight: %w", err)
	}
	return d.control(ctx, "preflight", func(c rueidis.Client) error {
		info, err := readInfo(ctx, c)
		if err != nil {
			return err
		}
		if role := info["role"]; role == "slave" {
			return fmt.Errorf("the server at %s is a replica, which takes no writes: name the primary", d.server.address)
		}
		if info["loading"] == "1" {
			return fmt.Errorf("the server at %s is still loading its data: try again later", d.server.address)
		}
		limit := info["maxclients"] // not in old versions
		if limit == "" {
			pairs, err := c.Do(ctx, c.B().ConfigGet().Parameter("maxclients").Build()).AsStrMap()
			if _, refused := rueidis.IsRedisErr(err); err != nil && !refused {
				return err
			}
			limit = pairs["maxclients"]
		}
		maximum, err := strconv.Atoi(limit)
		if err != nil {
			return nil // it does not tell: the connections themselves will show
		}
		connected, err := strconv.Atoi(info["connected_clients"])
		if err != nil {
			return fmt.Errorf("read the number of connections from INFO: %w", err)
		}
		used := max(connected-1, 0) // less our own
		measured := connections(d.load)
		needed := measured + controlConnections
		if left := maximum - used; needed > left {
			advice := "use fewer clients or threads"
			if pipelining(d.load) == pipeliningOff && d.load.Threads > 1 {
				advice += fmt.Sprintf(`, or set pipelining = "auto" in [engine], which needs %d`, d.load.Clients+controlConnections)
			}
			return fmt.Errorf("%d clients × %d threads need %d connections (%d measured, %d to control), but the server at %s has %d left: maxclients %d, less %d in use; "+
				"raise maxclients to at least %d, %s", d.load.Clients, d.load.Threads, needed, measured, controlConnections, d.server.address, max(left, 0), maximum, used, needed+used, advice)
		}
		return nil
	})
}

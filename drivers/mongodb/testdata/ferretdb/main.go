// Ferretdb serves MongoDB's protocol on a PostgreSQL database, for the tests of the mongodb engine: no package registry has a MongoDB server. It
// is a module of its own, so that the project does not depend on what only this program needs.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:27017", "address to listen on")
	postgres := flag.String("postgres", "", "URL of the PostgreSQL database; credentials come from clients")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	server, err := ferretdb.New(&ferretdb.Config{
		Listener: ferretdb.ListenerConfig{TCP: *listen}, Handler: "postgresql", PostgreSQLURL: *postgres,
	})
	if err == nil {
		err = server.Run(ctx)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

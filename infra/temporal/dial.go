package temporal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	tlog "go.temporal.io/sdk/log"
)

// DefaultDialTimeout is how long Dial tries to reach a server.
const DefaultDialTimeout = 10 * time.Second

// Options says how to connect. The zero value connects to the server the
// environment names.
type Options struct {
	// Address is a server to connect to in the clear and without credentials, as
	// ours are. When empty, the address, TLS and API key come from the
	// environment.
	Address string
	// Namespace defaults to the environment's, then to DefaultNamespace.
	Namespace string
	// Logger receives the SDK's warnings and errors; what it logs for
	// information is dropped. The default drops everything.
	Logger *slog.Logger
	// Identity names this client in histories; the default is the SDK's.
	Identity string
	// Timeout defaults to DefaultDialTimeout.
	Timeout time.Duration
	// Adjust changes the client options last, for interceptors and metrics.
	Adjust func(*client.Options)
}

// ClientOptions returns the options of the SDK's client.
func ClientOptions(o Options) (client.Options, error) {
	opts := client.Options{HostPort: o.Address, Namespace: os.Getenv(EnvNamespace)}
	if o.Address == "" {
		var err error
		if opts, err = fromEnvironment(); err != nil {
			return client.Options{}, err
		}
		if opts.HostPort == "" {
			opts.HostPort = client.DefaultHostPort
		}
	}
	if o.Namespace != "" {
		opts.Namespace = o.Namespace
	}
	if opts.Namespace == "" {
		opts.Namespace = DefaultNamespace
	}
	opts.Identity = o.Identity
	opts.Logger = quiet(o.Logger)
	if o.Adjust != nil {
		o.Adjust(&opts)
	}
	return opts, nil
}

// fromEnvironment reads Temporal's own variables and configuration file.
func fromEnvironment() (client.Options, error) {
	opts, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return client.Options{}, fmt.Errorf("read temporal settings of the environment: %w", err)
	}
	return opts, nil
}

// Dial connects to a Temporal server. A server that cannot be reached is tried
// until the timeout; the error then says what was tried.
func Dial(ctx context.Context, o Options) (client.Client, error) {
	opts, err := ClientOptions(o)
	if err != nil {
		return nil, err
	}
	timeout := o.Timeout
	if timeout <= 0 {
		timeout = DefaultDialTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	started := time.Now()
	for attempts := 1; ; attempts++ {
		c, err := dialOnce(limited, opts, 3*time.Second)
		if err == nil {
			return c, nil
		}
		if !worthRetrying(err) {
			return nil, fmt.Errorf("connect to temporal at %s: %w", opts.HostPort, err)
		}
		select {
		case <-limited.Done():
		case <-time.After(300 * time.Millisecond):
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connect to temporal at %s: %w (last error: %v)", opts.HostPort, ctx.Err(), err)
		}
		if limited.Err() != nil {
			return nil, fmt.Errorf("connect to temporal at %s: no answer in %s (%s, namespace %s, %s, %s): %w",
				opts.HostPort, time.Since(started).Round(100*time.Millisecond), times(attempts), opts.Namespace, transport(opts), advice(o), err)
		}
	}
}

func dialOnce(ctx context.Context, opts client.Options, limit time.Duration) (client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	opts.ConnectionOptions.GetSystemInfoTimeout = limit
	return client.DialContext(ctx, opts)
}

// worthRetrying tells a server that is away from one that has answered no.
func worthRetrying(err error) bool {
	var denied *serviceerror.PermissionDenied
	var invalid *serviceerror.InvalidArgument
	switch {
	case errors.As(err, &denied), errors.As(err, &invalid):
		return false
	}
	return !unauthenticated(err)
}

func times(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// transport says how the connection was tried, without saying any secret.
func transport(opts client.Options) string {
	how := "without TLS"
	if opts.ConnectionOptions.TLS != nil {
		how = "with TLS"
	}
	if opts.Credentials != nil {
		how += " and an API key"
	}
	return how
}

func advice(o Options) string {
	switch {
	case o.Address != "":
		return "the server may have ended"
	case os.Getenv(EnvAddress) == "":
		return EnvAddress + " is not set"
	}
	return "the address is from the environment"
}

// quiet wraps a logger so that only what needs attention passes.
func quiet(l *slog.Logger) tlog.Logger {
	if l == nil {
		return tlog.NewStructuredLogger(slog.New(slog.DiscardHandler))
	}
	return tlog.NewStructuredLogger(slog.New(atLeastWarn{l.Handler()}))
}

// atLeastWarn drops records below warning.
type atLeastWarn struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h atLeastWarn) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= slog.LevelWarn && h.Handler.Enabled(ctx, l)
}

// WithAttrs implements slog.Handler.
func (h atLeastWarn) WithAttrs(attrs []slog.Attr) slog.Handler {
	return atLeastWarn{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h atLeastWarn) WithGroup(name string) slog.Handler {
	return atLeastWarn{h.Handler.WithGroup(name)}
}

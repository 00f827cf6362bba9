package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/labstack/echo/v4/middleware"
	"github.com/temporalio/ui-server/v2/server/api"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/csrf"
	"github.com/temporalio/ui-server/v2/server/headers"
	"github.com/temporalio/ui-server/v2/server/route"
	uiassets "github.com/temporalio/ui-server/v2/ui"
)

// uiServer serves Temporal's Web UI on a listener of ours. The ui-server
// package's own Server binds its port by itself and ends the process when it
// cannot, so its routes are mounted here instead. Its cross-origin and login
// routes are left out: the page is served to its own origin only.
type uiServer struct {
	http *http.Server
}

// startUI serves the UI for the frontend at the given address; failures of a
// running UI go to the fault.
func startUI(l net.Listener, frontend, namespace string, f *fault, logger *slog.Logger) (*uiServer, error) {
	handler, err := uiHandler(frontend, namespace)
	if err != nil {
		return nil, fmt.Errorf("web ui: %w", err)
	}
	u := &uiServer{http: &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}}
	go func() {
		if err := u.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			f.set(fmt.Errorf("web ui: %w", err))
		}
	}()
	return u, nil
}

// stop ends the UI. Requests under way are page loads and queries that a
// browser repeats, so they get a moment and no more.
func (u *uiServer) stop(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	if err := u.http.Shutdown(ctx); err != nil {
		_ = u.http.Close()
	}
}

func uiHandler(frontend, namespace string) (http.Handler, error) {
	provider, err := uiconfig.NewConfigProviderWithRefresh(staticConfig{&uiconfig.Config{
		TemporalGRPCAddress: frontend,
		EnableUI:            true,
		DefaultNamespace:    namespace,
		Distribution:        "server",
		// Plain HTTP on a machine of the user's own.
		CORS: uiconfig.CORS{CookieInsecure: true},
		// A bench host talks to nobody it was not told to talk to.
		DisableNewsFetch: true,
		HideLogs:         true,
	}})
	if err != nil {
		return nil, err
	}
	pages, err := uiassets.Assets()
	if err != nil {
		return nil, fmt.Errorf("open assets: %w", err)
	}
	if pages, err = fs.Sub(pages, "local"); err != nil {
		return nil, fmt.Errorf("open assets: %w", err)
	}

	e := echo.New()
	e.Logger.SetOutput(io.Discard)
	e.StdLogger = log.New(io.Discard, "", 0)
	e.Use(
		middleware.Recover(),
		middleware.Gzip(),
		middleware.Secure(),
		csrf.EnsureTokenCookie(false),
		middleware.CSRFWithConfig(csrf.MiddlewareConfig(provider, false)),
	)
	route.SetHealthRoute(e)
	forward := headers.WithForwardHeaders([]string{"Caller-Type"})
	if err := route.SetAPIRoutes(e, provider, []api.Middleware{forward}); err != nil {
		return nil, err
	}
	if err := route.SetUIRoutes(e, "", pages, provider); err != nil {
		return nil, err
	}
	route.SetRenderRoute(e, "/")
	return e, nil
}

// staticConfig is a configuration that never changes.
type staticConfig struct{ config *uiconfig.Config }

// GetConfig implements config.ConfigProvider.
func (s staticConfig) GetConfig() (*uiconfig.Config, error) { return s.config, nil }

package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/durabench/durabench/bench/plan"
)

// ErrNoAgent says that no agent answers for a run's directory: it was never started, has ended, or was lost.
var ErrNoAgent = errors.New("no agent answers")

// ErrUnknownStep says that the agent was never asked for a step, or that the agent that ran it was lost before it finished.
var ErrUnknownStep = errors.New("unknown step")

// ErrBusy says that another step is running.
var ErrBusy = errors.New("the agent is busy")

// ErrDifferentStep says that the agent knows a step by this id with another content.
var ErrDifferentStep = errors.New("the step's id is taken")

// answerTimeout bounds how long an agent takes to answer what it can answer at once. A machine under the load of a benchmark is slow.
const answerTimeout = 30 * time.Second

// Client talks to the agent of one run.
type Client struct {
	dir  string
	info Info
	http *http.Client
}

// Dial finds the agent that serves a run's directory. ErrNoAgent is the error when there is none.
func Dial(ctx context.Context, dir string) (*Client, error) {
	var self identity
	if err := readJSON(filepath.Join(dir, identityFile), &self); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%w for %s", ErrNoAgent, dir)
		}
		return nil, fmt.Errorf("find the agent: %w", err)
	}
	if self.Protocol != Protocol {
		return nil, fmt.Errorf("the agent of %s (process %d, build %s) speaks protocol %d and this build %d: "+
			"let the run end under the build that began it, or cancel it", dir, self.PID, self.Revision, self.Protocol, Protocol)
	}
	dialer := &net.Dialer{}
	client := &Client{dir: dir, http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", self.Socket)
		},
		// One waiting request and one beside it; the agent has no one else to serve.
		MaxIdleConns: 2,
	}}}
	if err := client.call(ctx, http.MethodGet, "/agent", nil, &client.info); err != nil {
		client.Close()
		return nil, err
	}
	return client, nil
}

// Info returns what the agent said of itself when it was dialled.
func (c *Client) Info() Info { return c.info }

// Close lets the connection go. The agent is not told.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Start makes the agent run a step, or finds that it has it already: running or finished. A step whose last execution is among those that
// were lost is run again, up to MaxAttempts times.
func (c *Client) Start(ctx context.Context, step plan.Step, lost ...Loss) (Status, error) {
	var status Status
	err := c.call(ctx, http.MethodPost, "/steps", Begin{Step: step, Lost: lost}, &status)
	return status, err
}

// Status tells where a step is: at the latest after wait, at once when it has finished.
func (c *Client) Status(ctx context.Context, id string, wait time.Duration) (Status, error) {
	var status Status
	err := c.call(ctx, http.MethodGet, "/steps/"+url.PathEscape(id)+"?wait="+wait.String(), nil, &status)
	return status, err
}

// Wait returns what a step came to. Meanwhile it hands on the step's status every second at first and then every few seconds: asking
// costs time on the machine that is measured.
func (c *Client) Wait(ctx context.Context, id string, report func(Status)) (Outcome, error) {
	for n := 0; ; n++ {
		status, err := c.Status(ctx, id, pollInterval(n))
		if err != nil {
			return Outcome{}, err
		}
		if status.State == Finished && status.Outcome != nil {
			return *status.Outcome, nil
		}
		if report != nil {
			report(status)
		}
	}
}

// pollInterval is how long question n about a running step waits: short legs are seen to move, long ones are left alone.
func pollInterval(n int) time.Duration {
	if n < 15 {
		return time.Second
	}
	return 5 * time.Second
}

// Cancel ends a running step early. It returns at once; Wait returns the outcome.
func (c *Client) Cancel(ctx context.Context, id string) error {
	return c.call(ctx, http.MethodPost, "/steps/"+url.PathEscape(id)+"/cancel", nil, nil)
}

// Quit tells the agent to end. It returns at once.
func (c *Client) Quit(ctx context.Context) error {
	return c.call(ctx, http.MethodPost, "/quit", nil, nil)
}

// call makes one request. An agent that cannot be reached, or is gone before it has answered, is ErrNoAgent.
func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			return fmt.Errorf("encode a request to the agent: %w", err)
		}
	}
	bounded, cancel := context.WithTimeoutCause(ctx, answerTimeout, fmt.Errorf("the agent did not answer within %v", answerTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(bounded, method, "http://agent"+path, &content)
	if err != nil {
		return fmt.Errorf("ask the agent: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return c.unreachable(ctx, bounded, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		var refused problem
		if err := json.NewDecoder(response.Body).Decode(&refused); err != nil {
			return fmt.Errorf("ask the agent: %s", response.Status)
		}
		return refused.err()
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return c.unreachable(ctx, bounded, err)
	}
	return nil
}

// unreachable tells the end of the caller's own context from an agent that is slow and one that is gone.
func (c *Client) unreachable(ctx, bounded context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ask the agent: %w", context.Cause(ctx))
	case bounded.Err() != nil:
		return fmt.Errorf("ask the agent: %w", context.Cause(bounded))
	default:
		return fmt.Errorf("%w for %s: %w", ErrNoAgent, c.dir, err)
	}
}

// err turns a refusal into an error that a caller can tell from others.
func (p problem) err() error {
	switch p.Code {
	case codeUnknown:
		return fmt.Errorf("%w: %s", ErrUnknownStep, p.Error)
	case codeBusy:
		return fmt.Errorf("%w: %s", ErrBusy, p.Error)
	case codeDifferent:
		return fmt.Errorf("%w: %s", ErrDifferentStep, p.Error)
	case codeClosing:
		return fmt.Errorf("%w: %s", ErrNoAgent, p.Error)
	default:
		return fmt.Errorf("the agent refuses: %s", p.Error)
	}
}

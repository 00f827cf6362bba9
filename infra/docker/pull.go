package docker

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/image"
)

// Progress is how far a pull has got.
type Progress struct {
	Image string
	// Status is what goes on, in the engine's words.
	Status string
	// Layers is how many parts the image has, as far as is known; Done of them are here.
	Layers, Done int
	// Bytes have been received. Total is how many it will be, as far as is known: layers tell their size when their turn comes.
	Bytes, Total int64
}

// Percent is the share of the known bytes that are here; 0 while it cannot be told.
func (p Progress) Percent() float64 {
	if p.Total == 0 || p.Bytes > p.Total {
		return 0
	}
	return 100 * float64(p.Bytes) / float64(p.Total)
}

const (
	// pullAttempts is how often a pull is tried that fails for no fault of the image's.
	pullAttempts = 3
	// pullPause is how long it waits in between, and twice as long each time.
	pullPause = 3 * time.Second
)

// pullAgain fetches an image, and tries again unless the registry has said that there is none for us.
func (c *Client) pullAgain(ctx context.Context, name string, report func(Progress)) error {
	pause := c.pullPause
	for attempt := 1; ; attempt++ {
		err := c.pull(ctx, name, report)
		if err == nil || isVerdict(err) || attempt == pullAttempts {
			return err
		}
		c.log.Warn("image is not pulled, trying again", "image", name, "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
		pause *= 2
	}
}

// pullError is the end of a pull that failed, as the engine tells it on the way.
type pullError struct {
	code int // as of HTTP, where the engine tells
	text string
}

func (e *pullError) Error() string { return e.text }

// verdicts are what registries and engines say of an image that is not to be had, in lower case: most of what ends a pull comes as a text.
var verdicts = []string{
	"manifest unknown", "name unknown", "name invalid", "repository name not known", "may require", "access to the resource is denied", "denied: ",
	"unauthorized", "insufficient_scope", "no matching manifest", "no match for platform", "unsupported media type", "unsupported manifest format",
}

// isVerdict tells whether a pull failed because there is no such image, or none for us. All else may pass: an engine that has no network, a
// registry that is overloaded or has served us too much already.
func isVerdict(err error) bool {
	text := strings.ToLower(err.Error())
	if strings.Contains(text, "toomanyrequests") || strings.Contains(text, "too many requests") {
		return false
	}
	var told *pullError
	if errors.As(err, &told) {
		switch told.code {
		case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
			return true
		}
	}
	return errdefs.IsNotFound(err) || errdefs.IsUnauthorized(err) || errdefs.IsPermissionDenied(err) || errdefs.IsInvalidArgument(err) ||
		strings.HasSuffix(text, ": not found") || strings.HasSuffix(text, ": denied") || slices.ContainsFunc(verdicts, func(verdict string) bool { return strings.Contains(text, verdict) })
}

// pull fetches an image.
func (c *Client) pull(ctx context.Context, name string, report func(Progress)) (err error) {
	c.log.Info("pulling image", "image", name)
	stream, err := c.api.ImagePull(ctx, name, image.PullOptions{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	if report == nil {
		report = func(Progress) {}
	}
	return followPull(stream, name, report)
}

// pullEvent is a line of what the engine tells of a pull.
type pullEvent struct {
	ID             string
	Status         string
	ProgressDetail struct{ Current, Total int64 }
	Error          string
	ErrorDetail    struct{ Code int }
}

// followPull reads what the engine tells of a pull until its end. That it failed, the engine says in the last line.
func followPull(stream io.Reader, name string, report func(Progress)) error {
	layers := make(map[string]*layer)
	for decoder := json.NewDecoder(stream); ; {
		var event pullEvent
		if err := decoder.Decode(&event); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if event.Error != "" {
			return &pullError{code: event.ErrorDetail.Code, text: event.Error}
		}
		if event.ID != "" {
			l := layers[event.ID]
			if l == nil {
				l = &layer{}
			}
			if l.follow(event) {
				layers[event.ID] = l
			}
		}
		progress := Progress{Image: name, Status: event.Status, Layers: len(layers)}
		for _, l := range layers {
			progress.Bytes += l.bytes
			progress.Total += l.total
			if l.done {
				progress.Done++
			}
		}
		report(progress)
	}
}

// layer is one part of an image on its way.
type layer struct {
	bytes, total int64
	done         bool
}

// follow takes note of an event; false when it is not of a layer. The words are the engine's.
func (l *layer) follow(event pullEvent) bool {
	switch event.Status {
	case "Downloading":
		l.bytes, l.total = event.ProgressDetail.Current, event.ProgressDetail.Total // which is 0 where the registry does not tell
	case "Download complete", "Verifying Checksum":
		l.total = max(l.total, l.bytes)
		l.bytes = l.total
	case "Extracting":
		// Of a quick download the engine tells nothing before.
		l.total = max(l.total, event.ProgressDetail.Total)
		l.bytes = l.total
	case "Pull complete", "Already exists":
		l.bytes, l.done = l.total, true
	case "Pulling fs layer", "Waiting":
	default:
		return false
	}
	return true
}

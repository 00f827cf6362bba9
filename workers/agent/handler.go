package agent

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

const (
	maxStepBytes = 1 << 20
	maxWait      = time.Minute
)

// requestError is an answer that refuses what was asked.
type requestError struct {
	code string
	text string
}

func (e *requestError) Error() string { return e.text }

// handler serves the agent's protocol: JSON over HTTP on the run's socket.
//
//	GET  /agent                 Info
//	POST /steps                 a Begin → Status; the same step twice is one step
//	GET  /steps/{id}?wait=5s    Status, at the latest after the wait or as soon as the step has finished
//	POST /steps/{id}/cancel     Status; the step ends with an outcome that says so
//	POST /quit                  the agent cancels what runs and ends
func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /agent", s.serveInfo)
	mux.HandleFunc("POST /steps", s.serveStart)
	mux.HandleFunc("GET /steps/{id}", s.serveStatus)
	mux.HandleFunc("POST /steps/{id}/cancel", s.serveCancel)
	mux.HandleFunc("POST /quit", s.serveQuit)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.asking++
		s.touch()
		s.mu.Unlock()
		defer func() {
			s.mu.Lock()
			s.asking--
			s.touch()
			s.mu.Unlock()
		}()
		mux.ServeHTTP(w, r)
	})
}

func (s *server) serveInfo(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	info := s.info
	info.Finished = s.steps.finished()
	if s.running != nil {
		info.Running = s.running.entry.Step.ID
	}
	s.mu.Unlock()
	s.answer(w, info)
}

func (s *server) serveStart(w http.ResponseWriter, r *http.Request) {
	var asked Begin
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxStepBytes)).Decode(&asked); err != nil {
		s.refuse(w, http.StatusBadRequest, codeInternal, "decode the step: "+err.Error())
		return
	}
	if asked.Step.ID == "" {
		s.refuse(w, http.StatusBadRequest, codeInternal, "a step needs an id")
		return
	}
	status, err := s.start(asked)
	var request *requestError
	switch {
	case errors.As(err, &request):
		s.refuse(w, http.StatusConflict, request.code, request.text)
	case err != nil:
		s.refuse(w, http.StatusInternalServerError, codeInternal, err.Error())
	default:
		s.answer(w, status)
	}
}

func (s *server) serveStatus(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	wait, err := time.ParseDuration(r.FormValue("wait"))
	if err != nil && r.FormValue("wait") != "" {
		s.refuse(w, http.StatusBadRequest, codeInternal, "wait: "+err.Error())
		return
	}
	s.mu.Lock()
	running := s.running
	s.mu.Unlock()
	if wait > 0 && running != nil && running.entry.Step.ID == id {
		timer := time.NewTimer(min(wait, maxWait))
		select {
		case <-running.done:
		case <-timer.C:
		case <-r.Context().Done():
		}
		timer.Stop()
	}
	s.answerStatus(w, id)
}

func (s *server) serveCancel(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	s.mu.Lock()
	if s.running != nil && s.running.entry.Step.ID == id {
		s.logger.Info("step is cancelled", "step", id)
		s.running.cancel()
	}
	s.mu.Unlock()
	s.answerStatus(w, id)
}

// answerStatus answers with a step's status. A step that neither runs nor has an outcome is unknown, even if an agent before this one
// began it: it has to be started again.
func (s *server) answerStatus(w http.ResponseWriter, id string) {
	s.mu.Lock()
	e := s.steps.steps[id]
	known := e != nil && (e.outcome != nil || s.running != nil && s.running.entry == e)
	var status Status
	if known {
		status = s.status(e)
	}
	s.mu.Unlock()
	if !known {
		s.refuse(w, http.StatusNotFound, codeUnknown, "step "+id+" was not started")
		return
	}
	s.answer(w, status)
}

func (s *server) serveQuit(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	if !s.closing {
		s.closing = true
		close(s.quit)
	}
	s.mu.Unlock()
	s.answer(w, struct{}{})
}

func (s *server) answer(w http.ResponseWriter, value any) {
	data, err := json.Marshal(value)
	if err != nil {
		s.refuse(w, http.StatusInternalServerError, codeInternal, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // a caller that is gone asks again
}

func (s *server) refuse(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(problem{Error: text, Code: code})
}

package temporal

import (
	"net/url"
	"strings"
)

// RunURL is the page of a workflow run in the Web UI; without a run id, of the
// workflow's latest run. It is empty when the UI's address is not known: where
// a server's UI lives cannot be told from where the server does.
func RunURL(s *Server, namespace, workflowID, runID string) string {
	if s == nil || s.UI == "" {
		return ""
	}
	page := strings.TrimRight(s.UI, "/") + "/namespaces/" + url.PathEscape(namespace) + "/workflows/" + url.PathEscape(workflowID)
	if runID != "" {
		page += "/" + url.PathEscape(runID) + "/history"
	}
	return page
}

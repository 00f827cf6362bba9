package server

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Attributes are the search attributes durabench's workflows set. They are
// registered with every namespace this server creates, and added to the ones it
// finds without them. Package infra/temporal of the root module has the same
// list for servers that are not ours; a test there compares the two.
var Attributes = map[string]enumspb.IndexedValueType{
	"Engine":  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"Spec":    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"Host":    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"Verdict": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"Suite":   enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"Commit":  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	"Rows":    enumspb.INDEXED_VALUE_TYPE_INT,
}

// namespaceRefresh is how often the services reread the namespaces, and so how
// long a search attribute added to a running server stays unknown to some of
// them. It is the server's own default, set here because addAttributes counts
// on it.
const namespaceRefresh = 2 * time.Second

// addAttributes registers the attributes which the namespace lacks: a file made
// by an older durabench, or by a plain Temporal server, may lack some. It
// returns once all services know them.
func addAttributes(ctx context.Context, c client.Client, namespace string, want map[string]enumspb.IndexedValueType, log *slog.Logger) error {
	have, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	missing := map[string]enumspb.IndexedValueType{}
	for name, kind := range want {
		switch existing, ok := have.GetCustomAttributes()[name]; {
		case !ok:
			missing[name] = kind
		case existing != kind:
			log.Warn("search attribute has another type than durabench expects", "name", name, "type", existing, "expected", kind)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(missing))
	log.Info("adding search attributes", "namespace", namespace, "names", names)
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace:        namespace,
		SearchAttributes: missing,
	})
	if err != nil {
		return fmt.Errorf("add search attributes %s to namespace %s: %w", strings.Join(names, ", "), namespace, err)
	}
	return awaitAttributes(ctx, c, names)
}

// awaitAttributes returns when the frontend accepts a query over the
// attributes, plus the time the other services may need to see them too.
func awaitAttributes(ctx context.Context, c client.Client, names []string) error {
	// Quoted, because some names ("Commit") are words of the query language.
	query := "`" + strings.Join(names, "` IS NULL OR `") + "` IS NULL"
	for {
		_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		wait := 100 * time.Millisecond
		if err == nil {
			wait = namespaceRefresh
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for search attributes %s: %w (last error: %v)", strings.Join(names, ", "), ctx.Err(), err)
		case <-time.After(wait):
		}
		if err == nil {
			return nil
		}
	}
}

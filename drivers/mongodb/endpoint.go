package mongodb

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"github.com/durabench/durabench/drivers"
)

const (
	// connectTimeout bounds each attempt to connect, selectTimeout waiting for a server that takes writes.
	connectTimeout, selectTimeout = 5 * time.Second, 5 * time.Second
	// heartbeat is how often each client looks whether the server is still what it was.
	heartbeat = 30 * time.Second
	// defaultDatabase is ours alone, so that on somebody's server nothing else is touched.
	defaultDatabase = "durabench"
	applicationName = "durabench"
)

var (
	urlForm   = regexp.MustCompile(`^mongodb(\+srv)?://`)
	plainForm = regexp.MustCompile(`^[^/\s@?]+(/[A-Za-z0-9_-]*)?$`)
	nameForm  = regexp.MustCompile(`^[A-Za-z0-9_-]{1,63}$`)
)

// parseEndpoint reads an address: a mongodb:// URL or host:port/database.
func parseEndpoint(text string, credentials drivers.Credentials) (config *options.ClientOptions, database, address string, err error) {
	const forms = "write it like mongodb://host:27017/database or host:27017"
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return nil, "", "", errors.New("mongodb needs an endpoint: " + forms)
	case urlForm.MatchString(text):
	case plainForm.MatchString(text):
		text = "mongodb://" + text
	default:
		return nil, "", "", errors.New("endpoint is in no form that mongodb knows: " + forms)
	}
	parsed, err := url.Parse(text)
	if err != nil {
		// Its text may repeat the address, with a password in it.
		return nil, "", "", errors.New("endpoint cannot be read: " + forms)
	}
	database = strings.TrimPrefix(parsed.Path, "/")
	if database == "" {
		database = defaultDatabase
	}
	if !nameForm.MatchString(database) || database == "admin" || database == "local" || database == "config" {
		return nil, "", "", fmt.Errorf("endpoint names the database %q: want up to 63 letters, digits, _ or -, and not one of MongoDB's own", database)
	}
	user := parsed.User.Username()
	password, _ := parsed.User.Password()
	if credentials.User != "" {
		user = credentials.User
	}
	if credentials.Password != "" {
		password = credentials.Password
	}
	// The driver reads the address without credentials, so that no error of its can repeat them.
	parsed.User, parsed.Path = nil, "/"
	values := parsed.Query()
	source := values.Get("authSource")
	mechanism := values.Get("authMechanism")
	values.Del("authSource")
	values.Del("authMechanism")
	for name := range values {
		switch strings.ToLower(name) {
		case "w", "journal", "wtimeoutms", "readconcernlevel", "retrywrites", "retryreads", "maxpoolsize", "minpoolsize", "maxconnecting", "readpreference":
			return nil, "", "", fmt.Errorf("endpoint sets %s, which is the benchmark's to set: leave it out", name)
		}
	}
	parsed.RawQuery = values.Encode()
	config = options.Client().ApplyURI(parsed.String())
	if err := config.Validate(); err != nil {
		return nil, "", "", fmt.Errorf("endpoint: %w; %s", err, forms)
	}
	if user != "" {
		config.SetAuth(options.Credential{Username: user, Password: password, PasswordSet: password != "", AuthSource: source, AuthMechanism: mechanism})
	}
	// Asking now and then whether the server is still there costs less beside a load than a stream of answers for each client.
	config.SetServerMonitoringMode(options.ServerMonitoringModePoll).SetHeartbeatInterval(heartbeat)
	config.SetAppName(applicationName).SetRetryReads(false).SetRetryWrites(false).SetConnectTimeout(connectTimeout).SetServerSelectionTimeout(selectTimeout)
	if parsed.Scheme == "mongodb" && len(config.Hosts) == 1 && config.ReplicaSet == nil && config.Direct == nil {
		config.SetDirect(true) // the server that was named, and no other
	}
	return config, database, parsed.Host, nil
}

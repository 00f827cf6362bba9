package store

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// s3Form is how an S3 store is written. The options, after "?" and joined by "&", are
//
//	region=REGION      where the bucket is; otherwise AWS_REGION or the profile's, and at last us-east-1
//	endpoint=URL       a server other than AWS; otherwise AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL or the profile's
//	path_style=BOOL    true: http://server/bucket/key, as other servers than AWS want it, and the default for them;
//	                   false: http://bucket.server/key
const s3Form = "s3://BUCKET/PREFIX?region=…&endpoint=…&path_style=true"

const insteadOfSecrets = "give them in the environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE)"

// address is what the URL of an S3 store says.
type address struct {
	bucket    string
	prefix    string // of every key, without "/" at its ends; may be empty
	region    string // "" leaves it to the environment
	endpoint  string // "" leaves it to the environment
	pathStyle *bool  // nil leaves it to the endpoint
}

var (
	bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)
	regionName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)
	optionName = regexp.MustCompile(`^[a-z_-]{1,32}$`)
	// secretName finds the options by which people try to hand over credentials, presigned URLs among them.
	secretName = regexp.MustCompile(`(?i)secret|access|token|passw|credential|signature|user|api.?key|x-amz`)
)

// parseAddress reads the URL of an S3 store. All its problems are told at once, and none of them quotes what could be a secret: the
// URL ends up in workflow histories, results and logs.
func parseAddress(spec string) (address, error) {
	u, err := url.Parse(spec)
	if err != nil { // its text quotes the whole URL
		return address{}, errors.New("store s3://…: is not a URL; write " + s3Form +
			", special characters as %XX, and no credentials in it")
	}
	at := address{bucket: u.Host, prefix: strings.TrimSuffix(strings.TrimPrefix(u.Path, "/"), "/")}
	var problems []error
	refuse := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if u.User != nil {
		refuse("credentials are no part of a store's name, which is written to results and logs; %s", insteadOfSecrets)
	}
	if u.Fragment != "" {
		refuse(`holds a "#"; write it as %%23`)
	}
	switch {
	case at.bucket == "":
		refuse("the bucket is missing; write %s", s3Form)
	case !bucketName.MatchString(at.bucket) || strings.Contains(at.bucket, "..") || net.ParseIP(at.bucket) != nil:
		refuse("%q cannot be the name of a bucket: 3 to 63 of a-z, 0-9, \".\" and \"-\"; a server goes into endpoint=URL", at.bucket)
	}
	if at.prefix != "" {
		if err := validKey(at.prefix); err != nil {
			refuse("the prefix %w", err)
		}
	}
	options, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		refuse("the options cannot be read; write %s, special characters as %%XX", s3Form)
	}
	secrets := false
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if secretName.MatchString(name) {
			secrets = true
		} else if err := at.set(name, options[name]); err != nil {
			problems = append(problems, err)
		}
	}
	if secrets {
		refuse("credentials are no options of a store, whose name is written to results and logs; %s", insteadOfSecrets)
	}
	if err := errors.Join(problems...); err != nil {
		return address{}, fmt.Errorf("store s3://%s: %w", shownBucket(at.bucket), err)
	}
	return at, nil
}

// set takes one option.
func (a *address) set(name string, values []string) error {
	const known = "the options are region, endpoint and path_style"
	if !optionName.MatchString(name) {
		return errors.New("has an option that is not known; " + known)
	}
	if len(values) > 1 {
		return fmt.Errorf("has the option %s more than once", name)
	}
	switch value := values[0]; name {
	case "region":
		if !regionName.MatchString(value) {
			return errors.New("region is not the name of a region, such as eu-central-1")
		}
		a.region = value
	case "endpoint":
		if err := validEndpoint(value); err != nil {
			return err
		}
		a.endpoint = strings.TrimSuffix(value, "/")
	case "path_style":
		if value != "true" && value != "false" {
			return errors.New("path_style is neither true nor false")
		}
		pathStyle := value == "true"
		a.pathStyle = &pathStyle
	default:
		return fmt.Errorf("has the option %q, which is not known; %s", name, known)
	}
	return nil
}

// validEndpoint never quotes the endpoint, as it may hold a password.
func validEndpoint(endpoint string) error {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return errors.New("endpoint is not a URL of the form https://HOST:PORT or http://HOST:PORT")
	case u.User != nil:
		return errors.New("endpoint holds credentials; " + insteadOfSecrets)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return errors.New(`endpoint holds a "?" or a "#"; it is of the form https://HOST:PORT`)
	}
	return nil
}

// shownEndpoint returns what of an endpoint may be shown, whoever set it.
func shownEndpoint(endpoint string) string {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return "the endpoint"
	}
	return u.Scheme + "://" + u.Host
}

func shownBucket(name string) string {
	if name == "" {
		return "…"
	}
	return name
}

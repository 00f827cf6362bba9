package store

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// credentialChain is where the SDK finds credentials: the environment, the profile, the machine's role. It tells faults of finding them
// from all others, and keeps them out of messages.
type credentialChain struct {
	provider aws.CredentialsProvider

	mu    sync.Mutex
	found aws.Credentials
}

// credentialError tells that no credentials could be had. Its cause is never shown: a program that should have printed credentials
// (credential_process) is quoted there with all it did print.
type credentialError struct{ err error }

func (e *credentialError) Error() string { return "no credentials" }

// configError tells that the configuration of AWS cannot be used. Its cause is never shown either, as it may quote the files.
type configError struct {
	what string
	err  error
}

func (e *configError) Error() string { return e.what }

// Retrieve returns credentials, from the provider's cache when they are still good.
func (c *credentialChain) Retrieve(ctx context.Context) (aws.Credentials, error) {
	found, err := c.provider.Retrieve(ctx)
	if err != nil {
		return aws.Credentials{}, &credentialError{err}
	}
	c.mu.Lock()
	c.found = found
	c.mu.Unlock()
	return found, nil
}

// scrub takes the credentials in use out of a text, should a server quote them.
func (c *credentialChain) scrub(text string) string {
	if c == nil {
		return text
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, secret := range []string{c.found.SecretAccessKey, c.found.SessionToken} {
		if len(secret) >= 8 { // a shorter one would blot out words
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return text
}

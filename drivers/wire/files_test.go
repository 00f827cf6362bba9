package wire

import (
	"strings"
	"testing"
)

func TestMoreConnectionsThanFilesAreRefused(t *testing.T) {
	if err := checkFiles(900, 1024); err != nil {
		t.Error(err)
	}
	err := checkFiles(6144, 1024)
	if err == nil || !strings.Contains(err.Error(), "ulimit -n 6244") {
		t.Errorf("error %v", err)
	}
	if err := CheckFiles(1); err != nil {
		t.Error(err)
	}
}

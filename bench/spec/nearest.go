package spec

import (
	"fmt"

	"github.com/durabench/durabench/bench/spelling"
)

// didYouMean returns "; did you mean …?" for an error's end, or "".
func didYouMean(text string, names []string) string {
	if near := spelling.Nearest(text, names); near != "" {
		return fmt.Sprintf("; did you mean %s?", near)
	}
	return ""
}

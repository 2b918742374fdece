// Package regex bounds regular expressions that somebody sends. They have RE2's syntax, as package regexp has it, so the time to
// match a text is the length of the text times the size of the program that the expression becomes; and that program may be far
// larger than the expression: x{1000} has seven bytes and a thousand instructions of fifty bytes, and to compile them takes five
// times as much.
package regex

import (
	"fmt"
	"regexp/syntax"
)

// Check reports what is wrong with an expression: its syntax, or that it becomes a program of about more than most instructions.
// The latter is found before anything of that size is made.
func Check(expression string, most int) error {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return err
	}
	if size(parsed, most) > most {
		return SizeError(most)
	}
	return nil
}

// A SizeError says that an expression becomes a program of more than so many instructions.
type SizeError int

func (e SizeError) Error() string {
	return fmt.Sprintf("the regular expression repeats too much: written out it would have more than %d parts", int(e))
}

// size is about how many instructions an expression becomes; beyond most it is any number above that.
func size(re *syntax.Regexp, most int) int {
	n := 1
	switch re.Op {
	case syntax.OpConcat, syntax.OpRepeat:
		n = 0
	case syntax.OpLiteral:
		n = len(re.Rune)
	case syntax.OpCharClass:
		n += len(re.Rune) / 64 // its ranges are kept once
	}
	for _, sub := range re.Sub {
		n += size(sub, most)
		if n > most {
			return most + 1
		}
	}
	if re.Op == syntax.OpRepeat {
		n *= max(re.Min, re.Max, 1)
	}
	return min(n, most+1)
}

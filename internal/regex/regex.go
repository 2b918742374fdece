// Package regex bounds regular expressions that somebody sends. They have RE2's syntax, as package regexp has it, so
// the time to match a text is the length of the text times the size of the program that the expression becomes; and
// that program may be far larger than the expression: x{1000} has seven bytes and a thousand instructions of fifty
// bytes, and to compile them takes five times as much.
package regex

import (
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// Check reports what is wrong with an expression: its syntax, or that it becomes a program of about more than most
// instructions. The latter is found before anything of that size is made.
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

// Size is of about how many instructions an expression's program is; 0 if it is none.
func Size(expression string) int {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return 0
	}
	return size(parsed, math.MaxInt32)
}

// A SizeError says that an expression becomes a program of more than so many instructions.
type SizeError int

func (e SizeError) Error() string {
	return fmt.Sprintf("the regular expression has too many repetitions: expanded, it would have more than %d parts", int(e))
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

// A Pattern is a compiled expression with what it costs to match a text.
type Pattern struct {
	prefix   string // all texts that match begin so
	points   int    // instructions of the rest
	compiled *regexp.Regexp
}

// prefixPerPoint is how many octets of a prefix count as one point: they take memory, and next to no time.
const prefixPerPoint = 16

// Compile compiles an expression that Check has accepted.
func Compile(expression string) (*Pattern, error) {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	prefix, points := divide(parsed)
	return &Pattern{prefix, points, compiled}, nil
}

// divide tells with what all texts begin that match an expression, and how many instructions the rest becomes.
func divide(re *syntax.Regexp) (prefix string, rest int) {
	rest = size(re, sizeMax)
	if re.Op != syntax.OpConcat || len(re.Sub) < 2 || re.Sub[0].Op != syntax.OpBeginText {
		return "", rest
	}
	first := re.Sub[1]
	if first.Op != syntax.OpLiteral || first.Flags&syntax.FoldCase != 0 {
		return "", rest
	}
	prefix = string(first.Rune)
	if strings.ContainsRune(prefix, utf8.RuneError) { // which stands for any octet that is no UTF-8
		return "", rest
	}
	return prefix, rest - len(first.Rune)
}

// sizeMax bounds sizes that are reckoned with.
const sizeMax = 1 << 20

// Points is how much the pattern takes of a bound on many.
func (p *Pattern) Points() int { return p.points + len(p.prefix)/prefixPerPoint }

// Match reports whether the pattern is found in a text, and how much work that was, in points times octets.
func (p *Pattern) Match(text string) (found bool, work int) {
	if !strings.HasPrefix(text, p.prefix) {
		return false, 1
	}
	return p.compiled.MatchString(text), 1 + p.points*len(text)
}

package filter

import (
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/duration"
)

// A span is the integers from Min to Max, both among them.
type span struct{ min, max int64 }

func (s span) has(n int64) bool { return s.min <= n && n <= s.max }

// A relation is what stands before a value.
type relation uint8

const (
	equal relation = iota
	above
	atLeast
	below
	atMost
	between // two values with .. between them; either may be absent
)

// cutRelation splits a value as it was written. Of a range, b is the upper end.
func cutRelation(s string) (r relation, a, b string) {
	switch {
	case strings.HasPrefix(s, ">="):
		return atLeast, s[2:], ""
	case strings.HasPrefix(s, "<="):
		return atMost, s[2:], ""
	case strings.HasPrefix(s, ">"):
		return above, s[1:], ""
	case strings.HasPrefix(s, "<"):
		return below, s[1:], ""
	}
	if a, b, ok := strings.Cut(s, ".."); ok {
		return between, a, b
	}
	return equal, s, ""
}

// spanOf makes a span of a value; read tells which integers one bound stands for: a day is many ms.
func spanOf(s string, read func(string) (span, error)) (span, error) {
	r, a, b := cutRelation(s)
	if r == between {
		if a == "" && b == "" {
			return span{}, errors.New("a range needs at least one end")
		}
		all := span{math.MinInt64, math.MaxInt64}
		if a != "" {
			from, err := read(a)
			if err != nil {
				return span{}, err
			}
			all.min = from.min
		}
		if b != "" {
			to, err := read(b)
			if err != nil {
				return span{}, err
			}
			all.max = to.max
		}
		if all.min > all.max {
			return span{}, errors.New("the range ends before it begins")
		}
		return all, nil
	}
	n, err := read(a)
	if err != nil {
		return span{}, err
	}
	switch r {
	case above:
		n.min, n.max = n.max+1, math.MaxInt64
	case atLeast:
		n.max = math.MaxInt64
	case below:
		n.min, n.max = math.MinInt64, n.min-1
	case atMost:
		n.min = math.MinInt64
	}
	return n, nil
}

// readNumber reads an integer.
func readNumber(s string) (span, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n >= amountMax || n <= -amountMax {
		return span{}, errors.New("a number is expected, such as 3, >3 or 2..5")
	}
	return span{n, n}, nil
}

// sizeUnits are the units of sizes, in bytes. Case does not count.
var (
	sizeUnits = []unit{{"", 1}, {"b", 1}, {"k", 1000}, {"kb", 1000}, {"m", 1e6}, {"mb", 1e6}, {"g", 1e9}, {"gb", 1e9},
		{"kib", 1 << 10}, {"mib", 1 << 20}, {"gib", 1 << 30}}
)

type unit struct {
	name string
	is   int64
}

// readSize reads bytes.
func readSize(s string) (span, error) {
	n, rest, ok := amount(s, sizeUnits)
	if !ok || rest != "" {
		return span{}, errors.New("a size is expected, such as 100, >10kB or 1MB..2MB")
	}
	return span{n, n}, nil
}

// chineseUnits makes units as the console shows them in Chinese those of durations. Longer ones come first.
var chineseUnits = strings.NewReplacer("毫秒", "ms", "秒", "s", "分钟", "m", "分", "m", "小时", "h",
	"时", "h", "天", "d", "日", "d", "周", "w")

// readAge reads ms.
func readAge(s string) (span, error) {
	n, err := duration.Milliseconds(chineseUnits.Replace(s))
	return span{n, n}, err
}

// amount reads a decimal number and its unit, and returns it in the smallest one.
func amount(s string, units []unit) (n int64, rest string, ok bool) {
	end := 0
	for end < len(s) && (s[end] >= '0' && s[end] <= '9' || s[end] == '.') {
		end++
	}
	after := end
	for after < len(s) && s[after]|0x20 >= 'a' && s[after]|0x20 <= 'z' {
		after++
	}
	for _, u := range units {
		if !strings.EqualFold(u.name, s[end:after]) {
			continue
		}
		whole, fraction, _ := strings.Cut(s[:end], ".")
		n, err := strconv.ParseInt(whole, 10, 64)
		if err != nil || n > amountMax/u.is {
			return 0, "", false
		}
		n *= u.is
		for i, scale := 0, u.is; i < len(fraction); i++ {
			if fraction[i] == '.' {
				return 0, "", false
			}
			scale /= 10
			n += int64(fraction[i]-'0') * scale
		}
		return n, s[after:], n < amountMax
	}
	return 0, "", false
}

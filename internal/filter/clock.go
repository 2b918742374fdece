package filter

import (
	"errors"
	"strings"
)

const (
	dayMS    = 86400e3
	hourMS   = 3600e3
	minuteMS = 60e3
)

var errTime = errors.New("a time is expected, such as 2026-11-20, >2026-11-20T08:30, 2026-11-20T08:30:00+08:00, today or 2026-11-20..2026-11-21")

// readClock reads an instant as far as it is given: a month, a day, a minute, a second or a ms, in UTC unless an offset
// follows. It stands for all the ms in it.
func readClock(now int64) func(string) (span, error) {
	return func(s string) (span, error) {
		day := floorDay(now)
		switch strings.ToLower(s) {
		case "now":
			return span{now, now}, nil
		case "today":
			return span{day, day + dayMS - 1}, nil
		case "yesterday":
			return span{day - dayMS, day - 1}, nil
		}
		c := clockReader{rest: s}
		return c.read()
	}
}

func floorDay(ms int64) int64 {
	day := ms / dayMS
	if ms%dayMS < 0 {
		day--
	}
	return day * dayMS
}

// clockReader takes the parts of an instant off a text.
type clockReader struct {
	rest   string
	failed bool
}

// digits takes n digits, which are a number from low to high.
func (c *clockReader) digits(n, low, high int64) int64 {
	var v int64
	for range n {
		if c.rest == "" || c.rest[0] < '0' || c.rest[0] > '9' {
			c.failed = true
			return 0
		}
		v, c.rest = v*10+int64(c.rest[0]-'0'), c.rest[1:]
	}
	if v < low || v > high {
		c.failed = true
	}
	return v
}

// skip takes one of these bytes.
func (c *clockReader) skip(these string) bool {
	if c.rest == "" || strings.IndexByte(these, c.rest[0]) < 0 {
		return false
	}
	c.rest = c.rest[1:]
	return true
}

func (c *clockReader) read() (span, error) {
	year := c.digits(4, 1970, 9999)
	if !c.skip("-") {
		return span{}, errTime
	}
	month := c.digits(2, 1, 12)
	if c.failed {
		return span{}, errTime
	}
	from, length := days(year, month, 1)*dayMS, int64(0)
	switch {
	case c.rest == "":
		next := days(year+month/12, month%12+1, 1) * dayMS
		length = next - from
	case c.skip("-"):
		day := c.digits(2, 1, 31)
		from, length = from+(day-1)*dayMS, dayMS
		if days(year, month, 1)+day-1 >= days(year+month/12, month%12+1, 1) {
			return span{}, errTime // the month is shorter
		}
		if c.skip("Tt") {
			ms, l := c.timeOfDay()
			from, length = from+ms, l
		}
	}
	if c.failed || c.rest != "" || length == 0 {
		return span{}, errTime
	}
	return span{from, from + length - 1}, nil
}

// timeOfDay reads what follows the T: ms since midnight UTC, and how many ms it stands for.
func (c *clockReader) timeOfDay() (ms, length int64) {
	ms, length = c.digits(2, 0, 23)*hourMS, hourMS
	if c.skip(":") {
		ms, length = ms+c.digits(2, 0, 59)*minuteMS, minuteMS
		if c.skip(":") {
			ms, length = ms+c.digits(2, 0, 59)*1000, 1000
			if c.skip(".") {
				for length > 1 && c.rest != "" && c.rest[0] >= '0' && c.rest[0] <= '9' {
					length /= 10
					ms += c.digits(1, 0, 9) * length
				}
				if length == 1000 {
					c.failed = true
				}
				for c.rest != "" && c.rest[0] >= '0' && c.rest[0] <= '9' { // finer than we know
					c.rest = c.rest[1:]
				}
			}
		}
	}
	switch {
	case c.skip("Zz") || c.rest == "":
		return ms, length
	case c.rest[0] == '+' || c.rest[0] == '-':
		east := c.rest[0] == '+'
		c.rest = c.rest[1:]
		offset := c.digits(2, 0, 14) * hourMS
		c.skip(":")
		if offset += c.digits(2, 0, 59) * minuteMS; east {
			offset = -offset
		}
		return ms + offset, length
	}
	return ms, length
}

// days counts the days from the Unix epoch to a date of the Gregorian calendar.
func days(year, month, day int64) int64 {
	if month <= 2 { // the year begins in March, so that the day that some years have more is its last
		year, month = year-1, month+12
	}
	return year*365 + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1 - 719468
}

package main

import (
	"bufio"
	"io"
	"iter"
)

// lines yields the lines of r, however long, each with its end. A slice is the caller's to keep.
func lines(r io.Reader) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		in := bufio.NewReader(r)
		for {
			line, err := in.ReadBytes('\n')
			if len(line) > 0 && !yield(line) || err != nil {
				return
			}
		}
	}
}

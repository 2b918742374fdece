package config

import "strings"

// nearest is the known key that name is most probably meant to be, empty if none is near. What stands for a variable
// part counts as that part.
func nearest(name string) string {
	best, least := "", len(name)/3+1
	for i := range keys {
		if strings.HasPrefix(keys[i].name, name+".") && !strings.HasSuffix(keys[i].name, "*") {
			return keys[i].name
		}
	}
	for i := range keys {
		candidate := keys[i].like(name)
		if d := distance(name, candidate); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// like is the key with the parts of name in the place of its variable ones.
func (k *key) like(name string) string {
	if !strings.Contains(k.name, "$") {
		return k.name
	}
	pattern, parts := strings.Split(k.name, "."), strings.Split(name, ".")
	for i, p := range pattern {
		if strings.HasPrefix(p, "$") && i < len(parts) {
			pattern[i] = parts[i]
		}
	}
	return strings.Join(pattern, ".")
}

// distance is how many characters have to be put in, taken out, changed or swapped with their neighbour.
func distance(a, b string) int {
	above, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], above[j-2]+1)
			}
		}
		above, last, row = last, row, above
	}
	return last[len(b)]
}

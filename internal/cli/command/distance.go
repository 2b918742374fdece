package command

// Nearest is the name that differs least from a word, "" if so many characters differ that it is another
// word.
func Nearest(word string, names []string) (nearest string) {
	limit := 1 + min(3, len(word)/3)
	for _, name := range names {
		if n := distance(word, name); n < limit {
			limit, nearest = n, name
		}
	}
	return nearest
}

// distance is the number of characters to insert, drop or change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

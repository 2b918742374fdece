package fullwidth

import "testing"

func TestFold(t *testing.T) {
	// If this fails, what a Chinese keyboard writes is not understood, or a character that is none of those is changed.
	t.Parallel()
	const wide, narrow = "！＝：，（５）Ａ～", "!=:,(5)A~"
	if got := FoldText(wide); got != narrow {
		t.Errorf("%s is folded to %s", wide, got)
	}
	for _, r := range "!~a、。　｟￥中\uFF00" {
		if got := Fold(r); got != r {
			t.Errorf("%c is folded to %c", r, got)
		}
	}
}

func TestColumns(t *testing.T) {
	// If this fails, tables with Chinese names have crooked columns.
	t.Parallel()
	for text, want := range map[string]int{"": 0, "orders": 6, "仓库": 4, "（订单）2": 9, "ü": 1, "u\u0308": 1, "😀": 2} {
		if got := Columns(text); got != want {
			t.Errorf("%s takes %d columns, want %d", text, got, want)
		}
	}
}

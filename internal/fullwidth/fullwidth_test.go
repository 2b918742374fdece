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

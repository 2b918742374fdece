package journal
import ("testing"; "github.com/bartleby-mq/bartleby/internal/vfs")
func TestZZ(t *testing.T) { 
	for seed := range uint64(200) {
	m := newModel()
	before := rewritten.Load()
	_, err := walk(vfs.NewMem(seed), m, seed, small())
	if err != nil {t.Error(seed, err)}
	if seed < 10 { t.Log(rewritten.Load()-before) }
	}
	t.Log(rewritten.Load())
}

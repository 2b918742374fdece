package management

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
)

func TestMutatedDefinitions(t *testing.T) {
	// If this fails, definitions that somebody has edited crash the broker, are taken over in part, or are taken over
	// twice with different results.
	t.Parallel()
	text, err := os.ReadFile(exported[1])
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(4) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			mutateDefinitions(t, text, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

func mutateDefinitions(t *testing.T, text []byte, dice *rand.Rand) {
	d := open(t)
	d.user = "" // the mutations may take guest's password away
	send := func(method, body string) *httptest.ResponseRecorder {
		return d.send(method, "/api/definitions", body, "Authorization", "Bearer "+testSecret)
	}
	export := func() []byte { return send("GET", "").Body.Bytes() }
	taken, refused := 0, 0
	for range 60 {
		var all any
		if err := json.Unmarshal(text, &all); err != nil {
			t.Fatal(err)
		}
		for range 1 + dice.IntN(3) {
			all = mutate(all, dice)
		}
		body, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		before := export()
		switch w := send("POST", string(body)); w.Code {
		case 204:
			taken++
			once := export()
			if again := send("POST", string(body)); again.Code != 204 {
				t.Errorf("refused the second time: %s", again.Body)
			}
			if twice := export(); !bytes.Equal(once, twice) {
				t.Errorf("imported once:\n%s\ntwice:\n%s\nof:\n%s", once, twice, body)
			}
		case 400:
			refused++
			if after := export(); !bytes.Equal(before, after) {
				t.Errorf("refused with %s, and changed\n%s\nto\n%s\nof:\n%s", w.Body, before, after, body)
			}
		default:
			t.Errorf("%d %s of %s", w.Code, w.Body, body)
		}
	}
	if taken < 3 || refused < 3 {
		t.Errorf("%d were taken, %d refused: the mutations prove nothing", taken, refused)
	}
}

// mutate changes one thing somewhere in a tree of JSON.
func mutate(tree any, dice *rand.Rand) any {
	odd := []any{nil, true, "", "x", "[", "amq.x", "stream", -1.0, 1.5, 1e18, []any{}, []any{1.0}, map[string]any{}, "\x00", "/", "undefined"}
	switch tree := tree.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(tree))
		if len(keys) == 0 {
			return odd[dice.IntN(len(odd))]
		}
		key := keys[dice.IntN(len(keys))]
		switch dice.IntN(12) {
		case 0:
			delete(tree, key)
		case 1:
			tree[key] = odd[dice.IntN(len(odd))]
		default:
			tree[key] = mutate(tree[key], dice)
		}
		return tree
	case []any:
		if len(tree) == 0 {
			return tree
		}
		at := dice.IntN(len(tree))
		switch dice.IntN(12) {
		case 0:
			return slices.Delete(tree, at, at+1)
		case 1:
			return append(tree, tree[at])
		default:
			tree[at] = mutate(tree[at], dice)
		}
		return tree
	}
	return odd[dice.IntN(len(odd))]
}

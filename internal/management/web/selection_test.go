package web

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// fill sets what a value consists of: to zero and to something else, in turn.
func fill(v reflect.Value, n *int) {
	if *n++; *n%4 == 0 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprintf("a \"<text>\", %d", *n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Uint16, reflect.Uint64:
		v.SetUint(uint64(*n))
	case reflect.Float64:
		v.SetFloat(float64(*n) / 8)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), *n%2, 2))
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	}
}

// oddRow has what the rows of today have not.
type oddRow struct {
	Plain   int
	Inner   struct{ A, B *int } `json:"inner"`
	Skipped int                 `json:"-"`
	Empty   [0]int              `json:"empty,omitempty"`
	Time    time.Time           `json:"time,omitzero"`
	Markup  string              `json:"m<>"`
	hidden  int
	api.Totals
}

func TestSelectedMembersAreAsAmongAll(t *testing.T) {
	// If this fails, a list with columns shows other values than the list without.
	t.Parallel()
	for _, row := range []any{
		&api.Queue{}, &api.Connection{}, &api.Channel{}, &api.Exchange{}, &api.Binding{}, &api.Consumer{},
		&api.DefinedQueue{}, &oddRow{hidden: 1},
	} {
		for from := range 4 {
			n := from
			if from > 0 { // else all is zero
				fill(reflect.ValueOf(row).Elem(), &n)
			}
			whole, err := Encode(row)
			if err != nil {
				t.Fatal(err)
			}
			columns := []string{
				"none", "name", "vhost,name", "message_stats.publish,messages,arguments.x-a", "m<>,Plain", "inner.A",
			}
			for name := range members(whole) {
				var plain string
				if err := json.Unmarshal(name, &plain); err != nil {
					t.Fatal(err)
				}
				columns = append(columns, plain, plain+",name", plain+".rate")
			}
			for _, c := range columns {
				l := NewStream(requestOf(t, &Shared{}, "ann"), &Answer{})
				l.columns = columnsOf(c)
				got, ok, err := l.selected(row)
				if want := appendFields(nil, whole, l.columns); !ok || err != nil || string(got) != string(want) {
					t.Errorf("%T, columns %s: %s, %v, %v; want %s", row, c, got, ok, err, want)
				}
			}
		}
	}
}

// costly must not be encoded.
type costly struct{ t *testing.T }

func (c costly) MarshalJSON() ([]byte, error) {
	c.t.Error("a member that nobody wants is encoded")
	return []byte("0"), nil
}

func TestOnlyColumnsAreEncoded(t *testing.T) {
	// If this fails, a list of names costs as much as the whole list.
	t.Parallel()
	row := &struct {
		Name string `json:"name"`
		More costly `json:"more"`
	}{"a", costly{t}}
	l := NewStream(requestOf(t, &Shared{}, "ann"), &Answer{})
	l.columns = columnsOf("name")
	if text, err := l.encode(row); err != nil || string(text) != `{"name":"a"}` {
		t.Errorf("%s, %v", text, err)
	}
}

// A named row encodes itself.
type namedRow struct{ Name string }

func (r *namedRow) MarshalJSON() ([]byte, error) {
	return []byte(`{"name":"` + r.Name + `","x":1}`), nil
}

func TestRowsThatEncodeThemselvesHaveColumns(t *testing.T) {
	// If this fails, columns of rows that are no plain structs are wrong.
	t.Parallel()
	inner := struct {
		Name string `json:"name"`
		X    int    `json:"x"`
	}{"a", 1}
	for _, row := range []any{
		&namedRow{"a"}, inner, &struct{ *namedRow }{&namedRow{"a"}}, map[string]any{"name": "a", "x": 1},
		&struct {
			Name string `json:"name"`
			X    int    `json:"x,string"`
		}{"a", 1},
		&struct {
			Name string     `json:"name"`
			Time *time.Time `json:"name.time,omitzero"`
		}{"a", &time.Time{}},
	} {
		l := NewStream(requestOf(t, &Shared{}, "ann"), &Answer{})
		l.columns = columnsOf("name")
		for range 2 {
			l.row.Reset()
			if text, err := l.encode(row); err != nil || string(text) != `{"name":"a"}` {
				t.Errorf("%T: %s, %v", row, text, err)
			}
		}
	}
}

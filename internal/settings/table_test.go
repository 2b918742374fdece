package settings

import "testing"

// If this fails, a row of the table has no effect, replaces another one, or has an effect on queues of a type that does
// not know it: Effective does not look at the type of queue that a row is for.
func TestRowsOfTheTable(t *testing.T) {
	t.Parallel()
	keys, arguments := map[string]bool{}, map[string]bool{}
	for i := range table {
		x := &table[i]
		if x.by&(byPolicy|byOperator) != 0 && keys[x.name] {
			t.Errorf("two rows have the policy key %s", x.name)
		}
		if x.by&byArgument != 0 && arguments[x.argument] {
			t.Errorf("two rows have the argument %s", x.argument)
		}
		keys[x.name], arguments[x.argument] = true, true
		if x.set != nil && x.only != "" {
			t.Errorf("%s is for %s queues only, and takes effect on others", x.name, x.only)
		}
		if x.set != nil && i >= len(explained) {
			t.Errorf("%s comes behind the rows that queues run with", x.name)
		}
	}
}

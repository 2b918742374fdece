package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestCommandsThatDoNotExist(t *testing.T) {
	// If this fails, a user who types a command of ctl without ctl, or none, is not told what to type.
	t.Parallel()
	const ask = "Commands for a running broker begin with 'bartleby ctl'. Did you mean 'bartleby ctl "
	for typed, want := range map[string]string{
		"bartleby":                    "bartleby: no command; 'bartleby serve' starts the broker\n\nBartleby is",
		"bartleby list_queues name":   "bartleby: unknown command \"list_queues\"\n" + ask + "list_queues'?\n",
		"bartleby list_quees":         ask + "list_queues'?\n",
		"bartleby dlq show orders":    ask + "dlq show'?\n",
		"bartleby dlq":                ask + "dlq'?\n",
		"bartleby --data x":           "Options come after a command, as in 'bartleby serve --data DIR'.\n",
		"bartleby something_else":     "unknown command \"something_else\"\n'bartleby help' lists the commands.\n",
		"bartleby delete_queu orders": "unknown command \"delete_queu\"\n'bartleby help' lists the commands.\n",
	} {
		var out, errs bytes.Buffer
		code := run(strings.Fields(typed), strings.NewReader(""), &out, &errs)
		if code != exitUsage || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, %s%s", typed, code, out.String(), errs.String())
		}
	}
}

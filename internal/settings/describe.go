package settings

import "slices"

// A Description is what the table says of a setting, for code that asks users for settings, or shows them.
type Description struct {
	Name     string   // in policies
	Argument string   // of a declaration; "" if arguments do not set it
	By       []Source // who may set it: FromArgument, FromPolicy, FromOperator
	// Type is the type of queue that knows the argument; "": all do.
	Type string
	// Exchanges says that it is for exchanges, not for queues.
	Exchanges bool

	Kind     Kind
	Min, Max int64    // of numbers; those of int64 where there are none
	Choices  []string // of a choice, the default first

	// Wins says which value is effective if a queue has both an argument and a policy, where the policy is the user's
	// merged with the operator's: argument, policy, operator policy (of the two, only the operator's overrides the
	// argument), smaller, larger; "" if nothing is merged.
	Wins string
	// None is the number that means no limit, negative or zero; "" if there is none. Every limit is smaller than it.
	None string
	Rule string // the same as Wins, in a sentence

	Option string // the option of a virtual host that sets a default
	Inert  bool   // it is accepted, and does nothing
}

// All describes all settings, in the order of the table.
func All() []Description {
	all := make([]Description, len(table))
	for i := range table {
		all[i] = table[i].describe()
	}
	return all
}

func (x *setting) describe() Description {
	d := Description{
		Name: x.name, Type: x.only, Exchanges: x.exchanges,
		Kind: x.policy.kind, Min: x.policy.least, Max: x.policy.most, Choices: slices.Clone(x.policy.choices),
		Wins: x.wins.wins, None: x.wins.none, Rule: x.wins.text, Option: x.option, Inert: x.inert,
	}
	for _, s := range []struct {
		by     scope
		source Source
	}{{byArgument, FromArgument}, {byPolicy, FromPolicy}, {byOperator, FromOperator}} {
		if x.by&s.by != 0 {
			d.By = append(d.By, s.source)
		}
	}
	if x.by&byArgument != 0 {
		d.Argument = x.argument
	}
	return d
}

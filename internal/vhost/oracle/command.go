package oracle

import (
	"fmt"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/amqp"
)

// Kind says what a Command asks for.
type Kind string

// The commands, with the fields that they read besides Kind and Channel.
const (
	OpenChannel     Kind = "open"
	CloseChannel    Kind = "close"
	DeclareExchange Kind = "exchange"        // Name, Type, Internal, Arguments
	DeleteExchange  Kind = "delete-exchange" // Name
	DeclareQueue    Kind = "declare"         // Name, Passive, Durable, AutoDelete, Arguments
	DeleteQueue     Kind = "delete"          // Name
	PurgeQueue      Kind = "purge"           // Name
	Bind            Kind = "bind"            // Exchange, Key, Name, ToExchange, Arguments
	Unbind          Kind = "unbind"          // likewise
	Qos             Kind = "qos"             // Prefetch, Global
	Consume         Kind = "consume"         // Name, Consumer, NoAck, Arguments
	Cancel          Kind = "cancel"          // Consumer
	Publish         Kind = "publish"         // Exchange, Key, Properties, Body, Mandatory
	Get             Kind = "get"             // Name, NoAck
	Ack             Kind = "ack"             // Tag, Multiple
	Nack            Kind = "nack"            // Tag, Multiple, Requeue
	Reject          Kind = "reject"          // Tag, Requeue
	Recover         Kind = "recover"         // with requeue
	Confirms        Kind = "confirms"        //
	Republish       Kind = "republish"       // LostLetters; Exchange and Key, both empty for where they were going
	Discard         Kind = "discard"         // LostLetters
	SetPolicy       Kind = "policy"          // Policy
	ClearPolicy     Kind = "clear-policy"    // Policy.Name, Policy.Operator
	SetOptions      Kind = "options"         // Arguments
	Tick            Kind = "tick"            //
)

// Command is one thing that somebody asks for.
type Command struct {
	Kind        Kind
	Channel     int
	Name        string
	Type        string
	Exchange    string
	Key         string
	Consumer    string
	Body        string
	Properties  amqp.Properties
	Arguments   amqp.Table
	Policy      Policy
	Tag         uint64
	LostLetters []uint64 // in the lost store, by their arrival
	Prefetch    int
	Passive     bool
	Durable     bool
	AutoDelete  bool
	Internal    bool
	ToExchange  bool
	NoAck       bool
	Global      bool
	Mandatory   bool
	Multiple    bool
	Requeue     bool
}

// String is the command in a line.
func (c *Command) String() string {
	var b strings.Builder
	if c.Channel != 0 {
		fmt.Fprintf(&b, "%d: ", c.Channel)
	}
	b.WriteString(string(c.Kind))
	switch c.Kind {
	case Publish:
		fmt.Fprintf(&b, " %s:%s %q %s", c.Exchange, c.Key, c.Body, showProperties(&c.Properties))
	case Bind, Unbind:
		fmt.Fprintf(&b, " %s -> %s key=%s", c.Exchange, c.Name, c.Key)
	case Ack, Nack, Reject:
		fmt.Fprintf(&b, " %d", c.Tag)
	case Republish, Discard:
		fmt.Fprintf(&b, " %d %s:%s", c.LostLetters, c.Exchange, c.Key)
	case Qos:
		fmt.Fprintf(&b, " %d", c.Prefetch)
	case SetPolicy, ClearPolicy:
		p := &c.Policy
		fmt.Fprintf(&b, " %s %q apply-to=%s priority=%d %s", p.Name, p.Pattern, p.ApplyTo, p.Priority, showTable(p.Definition))
	}
	for _, s := range [...]string{c.Type, c.Consumer} {
		if s != "" {
			b.WriteString(" " + s)
		}
	}
	if c.Name != "" && c.Kind != Bind && c.Kind != Unbind {
		b.WriteString(" " + c.Name)
	}
	if c.Arguments != nil {
		b.WriteString(" " + showTable(c.Arguments))
	}
	for _, f := range [...]struct {
		name string
		on   bool
	}{
		{"passive", c.Passive}, {"durable", c.Durable}, {"auto-delete", c.AutoDelete}, {"internal", c.Internal},
		{"to-exchange", c.ToExchange}, {"noack", c.NoAck}, {"global", c.Global}, {"mandatory", c.Mandatory},
		{"multiple", c.Multiple}, {"requeue", c.Requeue}, {"operator", c.Policy.Operator},
	} {
		if f.on {
			b.WriteString(" " + f.name)
		}
	}
	return b.String()
}

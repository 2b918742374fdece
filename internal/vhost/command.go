package vhost

import (
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/vhost/fact"
)

// ChannelID names a channel for the life of the process. It is given by the engine, as a ConnID is, and never used
// twice.
type ChannelID uint64

// CommandKind says what a Command asks for.
type CommandKind uint8

// The commands. Each lists the fields it reads besides Kind and Channel. A command on a channel that is not
// open is ignored: its channel was closed by a refusal that the client does not know of yet.
const (
	// Connect makes a connection known. Fields: Conn; Definition.Name, its name for lists;
	// Definition.CancelNotify; Window, bytes that may be on their way to it, at least 1.
	Connect CommandKind = iota + 1
	// Disconnect ends a connection: its channels close, its exclusive queues are deleted. Fields: Conn.
	Disconnect
	// Grant gives back window: bytes written to the socket. Fields: Conn, Window; WindowMax, how many bytes may be on
	// their way to the connection from now on, at least 1; 0: as many as before.
	Grant
	// StopDeliveries shuts the window of a connection that is about to end, for good: its consumers get nothing more,
	// what it asks for goes on. Fields: Conn.
	StopDeliveries
	// OpenChannel makes a channel known. Fields: Conn, Channel; Number, the client's.
	OpenChannel
	// CloseChannel ends a channel: its consumers go, its unacked messages return in order.
	// Source: AMQP channel.close.
	CloseChannel

	// DeclareExchange: Definition.Name, Type, Passive, Durable, AutoDelete, Internal, Arguments; NoWait.
	// Source: AMQP exchange.declare.
	DeclareExchange
	// DeleteExchange: Definition.Name, IfUnused; NoWait. Source: AMQP exchange.delete.
	DeleteExchange
	// BindExchange and UnbindExchange: Definition.Source, Name (the destination), RoutingKey, Arguments; NoWait.
	// Source: RabbitMQ e2e.
	BindExchange
	UnbindExchange
	// DeclareQueue: Definition.Name (empty: the broker makes one), Passive, Durable, Exclusive, AutoDelete,
	// Arguments, QueueType; NoWait. Source: AMQP queue.declare.
	DeclareQueue
	// DeleteQueue: Definition.Name, IfUnused, IfEmpty; NoWait. Source: AMQP queue.delete.
	DeleteQueue
	// BindQueue and UnbindQueue: Definition.Source, Name (the queue), RoutingKey, Arguments; NoWait.
	// Source: AMQP queue.bind, queue.unbind.
	BindQueue
	UnbindQueue
	// PurgeQueue drops what is ready: Definition.Name; NoWait. Source: AMQP queue.purge.
	PurgeQueue

	// Qos: Definition.Prefetch, PrefetchSize, Global. Source: AMQP basic.qos; RabbitMQ consumer-prefetch.
	Qos
	// Consume: Definition.Name (the queue), ConsumerTag, NoAck, Exclusive, Arguments; NoWait.
	// Source: AMQP basic.consume.
	Consume
	// Cancel: Definition.ConsumerTag; NoWait. Source: AMQP basic.cancel.
	Cancel
	// Publish: Exchange, Key, Properties, Body, Mandatory, Immediate. Source: AMQP basic.publish.
	Publish
	// Get: Definition.Name, NoAck, IfFits. Source: AMQP basic.get; IfFits is ours.
	Get
	// Ack: Tag, Multiple. Source: AMQP basic.ack.
	Ack
	// Nack gives messages back: Tag, Multiple, Requeue. Without Requeue they are dead letters, reason
	// "rejected". Source: RabbitMQ nack.
	Nack
	// Reject is Nack of one message. Source: AMQP basic.reject.
	Reject
	// Recover returns everything unacked on the channel: Requeue; NoWait is the asynchronous form.
	// Source: AMQP basic.recover.
	Recover
	// SelectConfirms: NoWait. Source: RabbitMQ confirms#publisher-confirms.
	SelectConfirms
	// Announce is a Publish whose body is still to come: Exchange, Key, Properties, Immediate. It changes nothing. It
	// is refused if the Publish would be, for its exchange or its user's permissions, so that nobody need take the
	// body.
	// Source: ours.
	Announce

	// SelectTx makes the channel transactional: publishes and settlements are held until CommitTx, which makes
	// all of them happen in one batch, or forgotten by RollbackTx. Source: AMQP tx.
	SelectTx
	CommitTx
	RollbackTx

	// SetPolicy: Policy. It is in force on every queue and exchange before the answer. Source: RabbitMQ policies.
	SetPolicy
	// ClearPolicy: Policy.Name, Policy.Operator.
	ClearPolicy
	// SetOptions: Definition.Arguments, the options that change; a void value takes one back (see OptionNames).
	SetOptions

	// Republish sends lost letters on: Selection. Each is answered by an Answered, in order.
	Republish
	// Discard ends lost letters: Selection, of which only IDs are read.
	Discard

	// Unschedule ends scheduled messages, and such as wait in a queue for their delivery time: Selection.Scheduled.
	// Each is answered by an Answered, in order: cancelled (now, or on a schedule before), already_fired,
	// waits_for_retry, unknown. Of a schedule's cancellations the newest 16,384 are remembered, of a queue's none.
	Unschedule
	// Reschedule moves what waits, on a schedule or in a queue: Selection.Scheduled, At. Answers: rescheduled,
	// cancelled, already_fired, unknown. An instant that has passed is now.
	Reschedule
	// FireNow does with what waits what would happen when it is due: Selection.Scheduled. Answers: fired (now),
	// cancelled, already_fired, unknown. In a queue it is a retry: the message is ready.
	FireNow
	// PurgeSchedule ends all messages that wait in a delayed exchange, which may be gone: Definition.Name. Done.Count
	// tells how many.
	PurgeSchedule

	// BeginRedrive begins a job: Order. Done.Count is its number.
	BeginRedrive
	// ChangeRedrive: JobChange.
	ChangeRedrive
	// Resend publishes a message anew, edited: Edit, and as what it becomes Properties and Body. An Answered tells:
	// redriven, or why not; then a Went each queue to which it went.
	Resend

	// SetSpace: Space, Memory. Whether there is space on the disk for dead letters to move, and memory to hold more
	// of them; a vhost begins with both.
	SetSpace

	// Tick lets time pass: what is due at Stamp.Now happens, up to tickMax deadlines.
	Tick
	// Recovered is the first command after a log was applied: what a crash left with consumers is ready.
	Recovered
)

// Command is one request to the machine. Byte slices are lent for the call of Step, except Owned and Body in it.
type Command struct {
	Kind    CommandKind
	Conn    fact.ConnID
	Channel ChannelID

	Exchange, Key    []byte
	Properties, Body []byte // raw properties as in the header frame, without CC and BCC changes; the whole body
	// Owned is memory that ends with Body, or nil. It is the machine's from now on: the machine may keep it, and write
	// before Body. So a large body need not be copied.
	Owned     []byte
	Mandatory bool
	Immediate bool
	// a Publish that waits in delayed exchanges is answered by an Answered for each, with the ID as Name
	AskIDs bool

	Tag      uint64 // delivery tag
	Multiple bool
	Requeue  bool
	NoWait   bool

	Space, Memory bool

	Window     int64
	WindowMax  int64
	Number     uint16
	Definition *Definition
	Policy     *Policy
	Selection  *Selection
	JobSpec    *JobSpec
	JobChange  *JobChange
	Edit       *Edit
}

// Definition holds what the rarer commands name.
type Definition struct {
	Name         string
	Type         string // of an exchange
	QueueType    string // of a queue whose arguments name none and whose flags allow it; "" is classic
	Source       string // of a binding
	RoutingKey   string
	ConsumerTag  string
	User         string
	Durable      bool
	AutoDelete   bool
	Exclusive    bool
	Internal     bool
	Passive      bool
	IfUnused     bool
	IfEmpty      bool
	NoAck        bool
	IfFits       bool // of a get: a message stays for which the connection's window has no space, as if there were none
	Global       bool
	CancelNotify bool
	PrefetchSize uint32
	Prefetch     uint16
	Arguments    amqp.Table
}

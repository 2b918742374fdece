package vhost

import (
	"reflect"
	"slices"

	"github.com/bartleby-mq/bartleby/internal/settings"
)

// share returns settings that equal s, and that queues may share: those of a crowd of queues are few.
func (v *VHost) share(s Settings) *Settings {
	for i, x := range v.shared {
		if reflect.DeepEqual(*x, s) {
			copy(v.shared[1:], v.shared[:i])
			v.shared[0] = x
			return x
		}
	}
	v.shared = slices.Insert(v.shared, 0, &s)
	v.shared = v.shared[:min(len(v.shared), sharedMax)]
	return &s
}

// What package settings owns and this package speaks of.
type (
	Settings  = settings.Settings
	Overflow  = settings.Overflow
	RetryType = settings.RetryType
	Backoff   = settings.Backoff
	Options   = settings.Options
	Sync      = settings.Sync
	Dialect   = settings.Dialect
	Policy    = settings.Policy
	Rules     = settings.Rules
	Subject   = settings.Subject
	Mark      = settings.Mark
)

// Their values, as settings says them.
const (
	DropHead         = settings.DropHead
	RejectPublish    = settings.RejectPublish
	RejectPublishDLX = settings.RejectPublishDLX
	DropLowest       = settings.DropLowest

	RetryDisabled = settings.RetryDisabled
	RetryAll      = settings.RetryAll
	RetryFailed   = settings.RetryFailed
	RetryReturned = settings.RetryReturned

	Unmarked  = settings.Unmarked
	Marked    = settings.Marked
	MarkedNot = settings.MarkedNot

	Linear      = settings.Linear
	Fixed       = settings.Fixed
	Exponential = settings.Exponential

	SyncDefault  = settings.SyncDefault
	SyncAlways   = settings.SyncAlways
	SyncInterval = settings.SyncInterval
	SyncNever    = settings.SyncNever

	Dialect3       = settings.Dialect3
	DialectTotal   = settings.DialectTotal
	DialectReasons = settings.DialectReasons
)

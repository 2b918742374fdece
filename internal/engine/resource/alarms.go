package resource

import (
	"iter"
	"math/bits"
	"strings"
	"time"
)

// Alarms is a set of resources of which there is too little. While one holds, publishers have to wait and everybody
// else goes on. Source: RabbitMQ alarms.
type Alarms uint8

const (
	// LowMemory holds while the process has more memory than the high watermark. Source: RabbitMQ memory.
	LowMemory Alarms = 1 << iota
	// LowDisk holds while less of the disk is free than the limit. Source: RabbitMQ disk-alarms.
	LowDisk
	// JournalFull holds while the journal has nothing left but its reserve, which is for giving space back: the disk is
	// full, or a quota is used up. Source: ours, decision 20.
	JournalFull
)

// EveryAlarm has all that there are.
const EveryAlarm = LowMemory | LowDisk | JournalFull

// alarmNames say what is short, in the order of the constants.
var alarmNames = [...]string{"memory", "disk", "journal"}

// Has reports whether one of those alarms holds.
func (a Alarms) Has(some Alarms) bool { return a&some != 0 }

// Each yields the alarms of a set one by one.
func (a Alarms) Each() iter.Seq[Alarms] {
	return func(yield func(Alarms) bool) {
		for i := range alarmNames {
			if one := Alarms(1) << i; a.Has(one) && !yield(one) {
				return
			}
		}
	}
}

// String names what is short: memory, disk, journal.
func (a Alarms) String() string {
	var short []string
	for one := range a.Each() {
		short = append(short, alarmNames[bits.TrailingZeros8(uint8(one))])
	}
	return strings.Join(short, ", ")
}

// Reason is what publishers are told. Source: RabbitMQ connection-blocked.
func (a Alarms) Reason() string {
	var short []string
	if a.Has(LowMemory) {
		short = append(short, "memory")
	}
	if a.Has(LowDisk | JournalFull) {
		short = append(short, "disk")
	}
	return "low on " + strings.Join(short, " & ")
}

const (
	// hysteresisPart: an alarm is cleared when its limit is left behind by one part in so many, 5 %: what is published
	// then must not set it at once.
	hysteresisPart = 20

	// nanosecondsPerByte is how fast memory or disk are taken at the worst: a byte in a nanosecond.
	nanosecondsPerByte = 1

	// CheckSoonest and CheckLatest bound the time until the next check, by which the machine could have run short.
	// Source: RabbitMQ disk_monitor, which checks every 10 s at the least.
	CheckSoonest, CheckLatest = 100 * time.Millisecond, 5 * time.Second

	// checkRaised is the time between checks while an alarm holds.
	checkRaised = time.Second
)

// unlimited is a limit that is not known or not set.
const unlimited = -1

// evaluate returns which of LowMemory and LowDisk hold, from what was read, the limits in bytes, and what held before.
func evaluate(before Alarms, u Usage, memoryLimit, diskLimit int64) (now Alarms) {
	if memoryLimit != unlimited && u.MemoryUsed > 0 {
		if before.Has(LowMemory) {
			memoryLimit -= memoryLimit / hysteresisPart
		}
		if u.MemoryUsed > memoryLimit {
			now |= LowMemory
		}
	}
	if diskLimit != unlimited && u.DiskFree >= 0 {
		if before.Has(LowDisk) {
			diskLimit += diskLimit / hysteresisPart
		}
		if u.DiskFree < diskLimit {
			now |= LowDisk
		}
	}
	return now
}

// scarce reports whether memory is scarce: see Monitor.MemoryScarce. What held dead letters take must not be what
// blocks publishers, and what is declared may take half of the watermark, which alone must not count as scarce.
func scarce(before bool, now Alarms, live, memoryLimit int64) bool {
	if memoryLimit == unlimited {
		return false
	}
	most := memoryLimit / 4 * 3
	if before {
		most = memoryLimit / 8 * 5
	}
	return now.Has(LowMemory) || live > most
}

// nextCheck is how long neither resource can run short.
func nextCheck(now Alarms, u Usage, memoryLimit, diskLimit int64) time.Duration {
	if now.Has(LowMemory | LowDisk) {
		return checkRaised
	}
	left := int64(CheckLatest / nanosecondsPerByte)
	if memoryLimit != unlimited && u.MemoryUsed > 0 {
		left = min(left, memoryLimit-u.MemoryUsed)
	}
	if diskLimit != unlimited && u.DiskFree >= 0 {
		left = min(left, u.DiskFree-diskLimit)
	}
	return max(time.Duration(left)*nanosecondsPerByte, CheckSoonest)
}

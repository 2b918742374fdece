package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"time"
)

// A release is what the image says of itself.
type release struct {
	version      string
	architecture string // Go's word, which is OCI's
	created      time.Time
}

// The user of RabbitMQ's official image, so that its volumes and security contexts fit. The group is root's, as
// where the user is an arbitrary number: what is to be written is open to the group.
const (
	userID  = 999
	groupID = 999
	home    = "/var/lib/rabbitmq"
	data    = home + "/bartleby-data"
)

// defaults lets guest in from outside the container, as RabbitMQ's official image does: inside there is nobody else.
const defaults = `# What differs in a container. Files here are read in the order of their names, after ../rabbitmq.conf.
loopback_users.guest = false
log.console = true
`

// ground returns what the binary stands on: no shell, no library, no package.
func ground() []entry {
	return []entry{
		directory("etc", 0o755),
		file("etc/passwd", 0o644, "root:x:0:0:root:/root:/sbin/nologin\n"+
			fmt.Sprintf("rabbitmq:x:%d:%d:Bartleby:%s:/sbin/nologin\n", userID, groupID, home)),
		file("etc/group", 0o644, fmt.Sprintf("root:x:0:\nrabbitmq:x:%d:\n", groupID)),
		directory("etc/rabbitmq", 0o755),
		directory("etc/rabbitmq/conf.d", 0o755),
		file("etc/rabbitmq/conf.d/10-defaults.conf", 0o644, defaults),
		directory("tmp", 0o777|sticky),
		directory("usr", 0o755),
		directory("usr/bin", 0o755),
		directory("var", 0o755),
		directory("var/lib", 0o755),
		{name: home[1:], mode: 0o775, kind: kindDirectory, user: userID},
	}
}

// names are what the binary is called beside its own name.
var names = []string{"rabbitmq-server", "rabbitmqctl", "rabbitmq-diagnostics", "rabbitmq-plugins", "rabbitmq-queues", "rabbitmq-upgrade", "rabbitmqadmin"}

func tools(program []byte) []entry {
	entries := []entry{{name: "usr/bin/bartleby", mode: 0o755, kind: kindFile, content: program}}
	for _, name := range names {
		entries = append(entries, link("usr/bin/"+name, "bartleby"))
	}
	return entries
}

// settings returns how a container of the image runs. Data is in the directory that RabbitMQ's image keeps it in, so
// that a volume there is enough; it is not tied to the name of the host.
func settings(r release) containerConfig {
	return containerConfig{
		User: fmt.Sprint(userID),
		ExposedPorts: map[string]struct{}{
			"5671/tcp": {}, "5672/tcp": {}, "15671/tcp": {}, "15672/tcp": {}, "15691/tcp": {}, "15692/tcp": {},
		},
		Env: []string{
			"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"HOME=" + home,
			"BARTLEBY_DATA=" + data,
		},
		Cmd:        []string{"rabbitmq-server"},
		Volumes:    map[string]struct{}{home: {}},
		WorkingDir: home,
		StopSignal: "SIGTERM",
		Healthcheck: &healthcheck{
			Test:     []string{"CMD", "rabbitmq-diagnostics", "-q", "ping"},
			Interval: 30 * time.Second, Timeout: 10 * time.Second, StartPeriod: time.Minute, Retries: 3,
		},
		Labels: map[string]string{
			"org.opencontainers.image.title":       "bartleby",
			"org.opencontainers.image.description": "RabbitMQ-compatible message broker that keeps its dead letters",
			"org.opencontainers.image.source":      "https://github.com/bartleby-mq/bartleby",
			"org.opencontainers.image.licenses":    "Apache-2.0",
			"org.opencontainers.image.version":     r.version,
		},
	}
}

// machines are the architectures that the image can be for.
var machines = map[string]elf.Machine{
	"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64, "arm": elf.EM_ARM, "386": elf.EM_386,
	"riscv64": elf.EM_RISCV, "s390x": elf.EM_S390, "ppc64le": elf.EM_PPC64,
}

// static refuses a binary that cannot run on nothing but a kernel, or not on this architecture.
func static(program []byte, architecture string) error {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return fmt.Errorf("not a binary for Linux: %w", err)
	}
	if f.Machine != machines[architecture] {
		return fmt.Errorf("a binary for %v, not for %s", f.Machine, architecture)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("wants a dynamic linker: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

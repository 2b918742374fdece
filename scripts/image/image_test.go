package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// binary64 returns the smallest file that says what it is for and, with PT_INTERP, that it wants a linker.
func binary64(t *testing.T, machine elf.Machine, segment elf.ProgType) []byte {
	t.Helper()
	h := elf.Header64{
		Type: uint16(elf.ET_EXEC), Machine: uint16(machine), Version: uint32(elf.EV_CURRENT),
		Ehsize: 64, Phoff: 64, Phentsize: 56, Phnum: 1, Shentsize: 64,
	}
	copy(h.Ident[:], elf.ELFMAG)
	h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)
	var b bytes.Buffer
	for _, part := range []any{h, elf.Prog64{Type: uint32(segment)}} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestRefusals(t *testing.T) {
	// If this fails, an image is made that no machine can start.
	t.Parallel()
	for name, c := range map[string]struct {
		program []byte
		want    string
	}{
		"static":                {binary64(t, elf.EM_AARCH64, elf.PT_LOAD), ""},
		"dynamic":               {binary64(t, elf.EM_AARCH64, elf.PT_INTERP), "CGO_ENABLED=0"},
		"for another machine":   {binary64(t, elf.EM_X86_64, elf.PT_LOAD), "EM_X86_64, not for arm64"},
		"a script":              {[]byte("#!/bin/sh\n"), "not a binary for Linux"},
		"nothing in the header": {nil, "not a binary for Linux"},
	} {
		err := static(c.program, "arm64")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestSameBytes(t *testing.T) {
	// If this fails, the same commit gives another image each time, and nobody can tell what is in one.
	t.Parallel()
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, binary64(t, elf.EM_AARCH64, elf.PT_LOAD), 0o755); err != nil {
		t.Fatal(err)
	}
	var made [2][]byte
	for i := range made {
		out := filepath.Join(dir, "image.tar")
		err := write(release{version: "v1", architecture: "arm64", created: time.Unix(1767225600, 0).UTC()}, program, "here/bartleby:v1", out)
		if err != nil {
			t.Fatal(err)
		}
		if made[i], err = os.ReadFile(out); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(made[0], made[1]) || !bytes.Contains(made[0], []byte(`"org.opencontainers.image.ref.name":"v1"`)) {
		t.Errorf("%d bytes and %d bytes, or not the tag", len(made[0]), len(made[1]))
	}
}

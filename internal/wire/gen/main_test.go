package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/wire"
)

func TestGeneratedFilesAreCurrent(t *testing.T) {
	t.Parallel() // If it fails, the committed methods are not those of the protocol: run go generate in package wire.
	s, err := readSpec()
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(s)
	if err != nil {
		t.Fatal(err)
	}
	have, err := filepath.Glob("../gen_*.go")
	if err != nil {
		t.Fatal(err)
	}
	if len(have) != len(want) {
		t.Errorf("%d generated files, want %d: %v", len(have), len(want), have)
	}
	for name, source := range want {
		got, err := os.ReadFile(filepath.Join("..", name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(got, source) {
			t.Errorf("%s is not what the generator writes", name)
		}
	}
}

func TestConstantsAgree(t *testing.T) {
	t.Parallel() // If it fails, a constant written by hand is not that of the protocol.
	s, err := readSpec()
	if err != nil {
		t.Fatal(err)
	}
	byHand := map[string]uint16{
		"frame-method": uint16(wire.FrameMethod), "frame-header": uint16(wire.FrameHeader), "frame-body": uint16(wire.FrameBody),
		"frame-heartbeat": uint16(wire.FrameHeartbeat), "frame-min-size": wire.FrameMin, "frame-end": uint16(wire.FrameEnd),
	}
	codes := 0
	for _, c := range s.Constants {
		if strings.HasPrefix(c.Name, "frame-") && c.Class == "" {
			if got, ok := byHand[c.Name]; !ok || got != c.Value {
				t.Errorf("%s is %d, want %d", c.Name, got, c.Value)
			}
			continue
		}
		codes++
		if got, want := amqp.CodeName(c.Value), strings.ToUpper(strings.ReplaceAll(c.Name, "-", "_")); got != want {
			t.Errorf("code %d is %s, want %s", c.Value, got, want)
		}
		if refusal := amqp.Errorf(c.Value, "x"); c.Class != "" && refusal.ClosesConnection() != (c.Class == "hard-error") {
			t.Errorf("code %d closes the connection: %v", c.Value, refusal.ClosesConnection())
		}
	}
	if codes != 19 {
		t.Errorf("%d reply codes, want 19", codes)
	}
}

func TestSpecRefusals(t *testing.T) {
	t.Parallel() // If it fails, the generator writes nonsense from a description it does not understand.
	const sound = `<amqp><class name="c" index="1"><method name="m" index="1"/></class></amqp>`
	for name, in := range map[string][2]string{
		"no XML":          {"<amqp", sound},
		"additions":       {sound, "<amqp"},
		"unknown type":    {`<amqp><class name="c" index="1"><method name="m" index="1"><field name="f" type="float"/></method></class></amqp>`, sound},
		"unknown domain":  {`<amqp><class name="c" index="1"><method name="m" index="1"><field name="f" domain="d"/></method></class></amqp>`, sound},
		"not a number id": {`<amqp><class name="c" index="x"></class></amqp>`, sound},
	} {
		if s, err := parseSpec([]byte(in[0]), []byte(in[1])); err == nil {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

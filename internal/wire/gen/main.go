// Command gen writes the method structs of package wire from the protocol description that ships with the module
// github.com/rabbitmq/amqp091-go, plus rabbitmq.xml for what is missing there. Run it with go generate in package
// wire; a test there regenerates and compares.
package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed rabbitmq.xml
var rabbitmqXML []byte

func main() {
	log.SetFlags(0)
	dir := "."
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(dir); err != nil {
		log.Fatal("gen: ", err)
	}
}

// run writes the generated files into dir.
func run(dir string) error {
	spec, err := readSpec()
	if err != nil {
		return err
	}
	files, err := generate(spec)
	if err != nil {
		return err
	}
	for name, source := range files {
		if err := os.WriteFile(filepath.Join(dir, name), source, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readSpec returns the protocol with RabbitMQ's additions.
func readSpec() (*spec, error) {
	const module = "github.com/rabbitmq/amqp091-go"
	out, err := exec.Command("go", "mod", "download", "-json", module).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return nil, fmt.Errorf("find %s: %w: %s", module, err, exit.Stderr)
		}
		return nil, fmt.Errorf("find %s: %w", module, err)
	}
	var found struct{ Dir string }
	if err := json.Unmarshal(out, &found); err != nil {
		return nil, fmt.Errorf("find %s: %w", module, err)
	}
	base, err := os.ReadFile(filepath.Join(found.Dir, "spec", "amqp0-9-1.stripped.extended.xml"))
	if err != nil {
		return nil, err
	}
	return parseSpec(base, rabbitmqXML)
}

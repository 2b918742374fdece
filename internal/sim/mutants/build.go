package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// rootOf finds the directory of the module that the working directory belongs to.
func rootOf() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// build builds this command with all faults into dir, and tests of packages, and returns the name of the command.
func build(root, dir string, tests []string) (command string, err error) {
	overlay, err := writeOverlay(root, dir)
	if err != nil {
		return "", err
	}
	command = filepath.Join(dir, "mutants")
	if err := goCommand(root, "build", "-overlay", overlay, "-o", command, "./internal/sim/mutants"); err != nil {
		return "", err
	}
	for _, pkg := range tests {
		test := testOf(dir, pkg)
		if err := goCommand(root, "test", "-c", "-vet=off", "-overlay", overlay, "-o", test, "./"+pkg); err != nil {
			return "", err
		}
	}
	return command, nil
}

func goCommand(root string, args ...string) error {
	c := exec.Command("go", args...)
	c.Dir = root
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// testOf is where the built tests of a package are.
func testOf(dir, pkg string) string {
	return filepath.Join(dir, strings.ReplaceAll(pkg, "/", "__")+".test")
}

// testsOf lists the packages whose tests must notice faults.
func testsOf(faults []fault) (pkgs []string) {
	for _, f := range faults {
		for _, c := range f.checks {
			if c.pkg != "" && !slices.Contains(pkgs, c.pkg) {
				pkgs = append(pkgs, c.pkg)
			}
		}
	}
	return pkgs
}

// again builds the command with faults and runs it, and returns how it ended.
func again(faults []fault) (exit int, err error) {
	root, err := rootOf()
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	command, err := build(root, dir, testsOf(faults))
	if err != nil {
		return 0, err
	}
	c := exec.Command(command, append([]string{"-built", dir}, os.Args[1:]...)...)
	c.Dir, c.Stdout, c.Stderr = root, os.Stdout, os.Stderr
	if err := c.Run(); c.ProcessState == nil {
		return 0, err
	}
	return c.ProcessState.ExitCode(), nil
}

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// usual is where the console has its modules.
const usual = "internal/management/console/ui/vendor"

// list is the file that says what is kept.
const list = "VENDOR.json"

// A vendored is a package of others.
type vendored struct {
	Name      string `json:"name"`
	Version   string `json:"version"`
	Licence   string `json:"licence"`
	Integrity string `json:"integrity"` // of the archive, as npm writes it; empty: not known yet
	Use       string `json:"use"`
	Files     []kept `json:"files"`
}

// A kept is a file of a package.
type kept struct {
	From   string `json:"from"` // its path in the package
	To     string `json:"to"`   // its name here
	SHA256 string `json:"sha256"`
}

// modules are the names by which the packages import each other, and where they are here.
var modules = map[string]string{
	"preact": "./preact.mjs", "preact/hooks": "./hooks.mjs", "@preact/signals-core": "./signals-core.mjs",
}

var (
	imported  = regexp.MustCompile(`\b(from|import)\s*"([^"./][^"]*)"`)
	sourceMap = regexp.MustCompile(`//# sourceMappingURL=\S*\n?`)
)

func main() {
	dir := usual
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(dir); err != nil {
		fmt.Fprintln(os.Stderr, "vendorui:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	packages, err := read(dir)
	if err != nil {
		return err
	}
	for i := range packages {
		if err := packages[i].bring(dir); err != nil {
			return fmt.Errorf("%s: %w", packages[i].Name, err)
		}
	}
	text, err := json.MarshalIndent(packages, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, list), append(text, '\n'), 0o644)
}

func read(dir string) (packages []vendored, err error) {
	text, err := os.ReadFile(filepath.Join(dir, list))
	if err != nil {
		return nil, err
	}
	return packages, json.Unmarshal(text, &packages)
}

// bring fetches a package and keeps its files in dir.
func (v *vendored) bring(dir string) error {
	temporary, err := os.MkdirTemp("", "vendorui-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temporary)
	pack := exec.Command("npm", "pack", "--silent", v.Name+"@"+v.Version)
	pack.Dir, pack.Stderr = temporary, os.Stderr
	name, err := pack.Output()
	if err != nil {
		return err
	}
	archive, err := os.ReadFile(filepath.Join(temporary, strings.TrimSpace(string(name))))
	if err != nil {
		return err
	}
	sum := sha512.Sum512(archive)
	integrity := "sha512-" + base64.StdEncoding.EncodeToString(sum[:])
	if v.Integrity == "" {
		v.Integrity = integrity
		fmt.Println(v.Name, v.Version, integrity)
	}
	if v.Integrity != integrity {
		return fmt.Errorf("the archive has integrity %s, not %s", integrity, v.Integrity)
	}
	files, err := unpack(archive)
	if err != nil {
		return err
	}
	for i := range v.Files {
		f := &v.Files[i]
		text, ok := files["package/"+f.From]
		if !ok {
			return fmt.Errorf("there is no %s in it", f.From)
		}
		if text, err = adapt(f.To, text); err != nil {
			return err
		}
		f.SHA256 = digest(text)
		if err := os.WriteFile(filepath.Join(dir, f.To), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// unpack reads the files of an archive, by path.
func unpack(archive []byte) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for t := tar.NewReader(z); ; {
		header, err := t.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[header.Name], err = io.ReadAll(t); err != nil {
			return nil, err
		}
	}
}

// adapt lets a browser load a module as it is.
func adapt(name string, text []byte) ([]byte, error) {
	if !strings.HasSuffix(name, ".mjs") && !strings.HasSuffix(name, ".js") {
		return text, nil
	}
	var unknown error
	text = imported.ReplaceAllFunc(text, func(found []byte) []byte {
		part := imported.FindSubmatch(found)
		path, ok := modules[string(part[2])]
		if !ok {
			unknown = fmt.Errorf("%s imports %s, which is not vendored", name, part[2])
		}
		return fmt.Appendf(nil, "%s%q", part[1], path)
	})
	return sourceMap.ReplaceAll(text, nil), unknown
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

package packaging

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An image is a layout as a tool that loads it sees it: blobs by their digests. Source: OCI image-spec 1.1.
type image struct {
	files  map[string][]byte
	config struct {
		Architecture, OS string
		Config           struct {
			User        string
			Env, Cmd    []string
			WorkingDir  string
			StopSignal  string
			Volumes     map[string]struct{}
			Healthcheck struct{ Test []string }
		}
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	layers [][]byte // before they were compressed
}

type described struct {
	MediaType, Digest string
	Size              int
}

// blob returns what a descriptor names, and fails the test if it is something else.
func (m *image) blob(t *testing.T, d described) []byte {
	t.Helper()
	content := m.files["blobs/"+strings.Replace(d.Digest, ":", "/", 1)]
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); got != d.Digest || len(content) != d.Size {
		t.Fatalf("%s, %d bytes, is %s, %d bytes", d.Digest, d.Size, got, len(content))
	}
	return content
}

func parse(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

func readImage(t *testing.T, path string) *image {
	t.Helper()
	archive, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	m := &image{files: map[string][]byte{}}
	for r := tar.NewReader(archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if m.files[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
	var layout struct{ ImageLayoutVersion string }
	if parse(t, m.files["oci-layout"], &layout); layout.ImageLayoutVersion != "1.0.0" {
		t.Fatalf("layout %q", layout.ImageLayoutVersion)
	}
	var index struct{ Manifests []described }
	if parse(t, m.files["index.json"], &index); len(index.Manifests) != 1 {
		t.Fatalf("%d images", len(index.Manifests))
	}
	var manifest struct {
		Config described
		Layers []described
	}
	parse(t, m.blob(t, index.Manifests[0]), &manifest)
	parse(t, m.blob(t, manifest.Config), &m.config)
	var load []struct {
		Config           string
		RepoTags, Layers []string
	}
	parse(t, m.files["manifest.json"], &load)
	for i, l := range manifest.Layers {
		compressed, err := gzip.NewReader(bytes.NewReader(m.blob(t, l)))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(compressed)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("sha256:%x", sha256.Sum256(raw)); got != m.config.RootFS.DiffIDs[i] {
			t.Fatalf("layer %d is %s, not %s", i, got, m.config.RootFS.DiffIDs[i])
		}
		if len(load) != 1 || !strings.HasSuffix(l.Digest, filepath.Base(load[0].Layers[i])) {
			t.Fatalf("docker would load %+v", load)
		}
		m.layers = append(m.layers, raw)
	}
	return m
}

// unpack writes the layers into a new root directory, which is then what a container of the image begins with.
func (m *image) unpack(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	mount(t, "packaging", root, "tmpfs", 0, "mode=0755")
	t.Cleanup(func() {
		if err := unix.Unmount(root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for _, layer := range m.layers {
		for r := tar.NewReader(bytes.NewReader(layer)); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			if err := place(filepath.Join(root, h.Name), h, r); err != nil {
				t.Fatalf("%s: %v", h.Name, err)
			}
		}
	}
	return root
}

func place(path string, h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeDir:
		if err := os.Mkdir(path, 0o700); err != nil {
			return err
		}
	case tar.TypeSymlink:
		return os.Symlink(h.Linkname, path)
	case tar.TypeReg:
		text, err := io.ReadAll(content)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return err
		}
	default:
		return fmt.Errorf("kind %q", h.Typeflag)
	}
	return errors.Join(os.Chown(path, h.Uid, h.Gid), unix.Chmod(path, uint32(h.Mode)))
}

// container returns how the image's commands run in root, as it says, or as another user of root's group.
func (m *image) container(t *testing.T, root string, user int) jail {
	t.Helper()
	c := m.config.Config
	j := jail{root: root, user: uint32(user), directory: c.WorkingDir, env: c.Env}
	if user == 0 {
		own, err := strconv.Atoi(c.User)
		if err != nil || own == 0 {
			t.Fatalf("runs as %q", c.User)
		}
		j.user, j.group = uint32(own), uint32(own)
	}
	return j
}

func TestImage(t *testing.T) {
	// If this fails, a container of the image does not start, is called sick though it is well, lets nobody in, keeps
	// its data in another place than the volume, or runs as root.
	if !*makes {
		t.Skip("needs -make")
	}
	m := readImage(t, artefact(t, "bartleby-image.tar"))
	const volume = "/var/lib/rabbitmq"
	if _, ok := m.config.Config.Volumes[volume]; !ok || m.config.OS != "linux" || m.config.Config.StopSignal != "SIGTERM" {
		t.Errorf("config: %+v", m.config)
	}
	for name, user := range map[string]int{"the image's user": 0, "any user": 54321} {
		t.Run(name, func(t *testing.T) {
			root := m.unpack(t)
			data := t.TempDir()
			mount(t, "packaging", data, "tmpfs", 0, "mode=0775")
			defer unix.Unmount(data, unix.MNT_DETACH)
			j := m.container(t, root, user)
			if err := os.Chown(data, int(j.user), 0); err != nil {
				t.Fatal(err)
			}
			mount(t, data, root+volume, "", unix.MS_BIND, "")
			if err := os.Mkdir(root+"/proc", 0o555); err != nil {
				t.Fatal(err)
			}
			mount(t, "proc", root+"/proc", "proc", 0, "") // as every container has it
			// The broker writes to nothing but the volume.
			mount(t, "", root, "", unix.MS_REMOUNT|unix.MS_RDONLY, "")

			mount(t, "packaging", root+"/tmp", "tmpfs", 0, "mode=1777")
			if called, wanted := j.names(t, "/usr/bin"); !slices.Equal(called, wanted) {
				t.Errorf("the image has the names %q, the binary knows %q", called, wanted)
			}
			if err := unix.Unmount(root+"/tmp", 0); err != nil {
				t.Fatal(err)
			}
			s := j.start(t, m.config.Config.Cmd...)
			if test := m.config.Config.Healthcheck.Test; len(test) < 2 || test[0] != "CMD" {
				t.Errorf("healthcheck %q", test)
			} else {
				j.run(t, test[1:]...)
			}
			for _, args := range [][]string{
				{"rabbitmqctl", "-q", "list_vhosts"}, {"rabbitmqctl", "status"}, {"rabbitmq-diagnostics", "-q", "check_port_connectivity"},
				{"rabbitmq-plugins", "is_enabled", "rabbitmq_management"}, {"bartleby", "version"}, {"rabbitmqctl", "await_startup"},
			} {
				j.run(t, args...)
			}
			keep(t, "copies", "copy this")
			apiAt(t, elsewhere, "GET", "/whoami", "") // guest, from outside the container
			s.stop(t)
			if left, err := os.ReadDir(data); err != nil || len(left) == 0 {
				t.Fatalf("the volume has %v, %v", left, err)
			}
			again := j.start(t, m.config.Config.Cmd...) // in a new container of another name, for all it knows
			kept(t, "copies", "copy this")
			again.stop(t)
		})
	}
}

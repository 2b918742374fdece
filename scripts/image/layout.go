package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Media types. Source: OCI image-spec 1.1.
const (
	indexType    = "application/vnd.oci.image.index.v1+json"
	manifestType = "application/vnd.oci.image.manifest.v1+json"
	configType   = "application/vnd.oci.image.config.v1+json"
	layerType    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// Kinds of entries, and a bit of their mode, as tar has them.
const (
	kindFile      = tar.TypeReg
	kindDirectory = tar.TypeDir
	kindLink      = tar.TypeSymlink
	sticky        = 0o1000
)

// An entry is one file of a layer; its group is root's.
type entry struct {
	name    string // from the root, without a slash before it
	mode    int64
	kind    byte
	user    int
	content []byte
	target  string // of a link
}

func directory(name string, mode int64) entry {
	return entry{name: name, mode: mode, kind: kindDirectory}
}
func file(name string, mode int64, text string) entry {
	return entry{name: name, mode: mode, kind: kindFile, content: []byte(text)}
}
func link(name, target string) entry {
	return entry{name: name, mode: 0o777, kind: kindLink, target: target}
}

// A descriptor names a blob. Source: OCI image-spec, descriptor.
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// manifest and index. Source: OCI image-spec, manifest, image-index.
type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// imageConfig says what the layers are and how they run. Source: OCI image-spec, config; Healthcheck is Docker's.
type imageConfig struct {
	platform
	Created time.Time       `json:"created"`
	Config  containerConfig `json:"config"`
	RootFS  rootFS          `json:"rootfs"`
	History []history       `json:"history"`
}

type containerConfig struct {
	User         string
	ExposedPorts map[string]struct{}
	Env          []string
	Cmd          []string
	Volumes      map[string]struct{}
	WorkingDir   string
	StopSignal   string
	Healthcheck  *healthcheck `json:",omitempty"`
	Labels       map[string]string
}

type healthcheck struct {
	Test                           []string
	Interval, Timeout, StartPeriod time.Duration // ns
	Retries                        int
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"` // digests of the layers before they were compressed
}

type history struct {
	Created   time.Time `json:"created"`
	CreatedBy string    `json:"created_by"`
}

// loadable is the list that `docker load` reads.
type loadable struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// layout returns the archive of the image that the layers make, the lowest first.
func layout(r release, name string, layers [][]entry) ([]byte, error) {
	blobs := []entry{directory("blobs", 0o755), directory("blobs/sha256", 0o755)}
	store := func(mediaType string, content []byte) descriptor {
		sum := digest(content)
		blobs = append(blobs, entry{name: blobPath(sum), mode: 0o644, kind: kindFile, content: content})
		return descriptor{MediaType: mediaType, Digest: sum, Size: len(content)}
	}
	os := platform{Architecture: r.architecture, OS: "linux"}
	config := imageConfig{platform: os, Created: r.created, Config: settings(r), RootFS: rootFS{Type: "layers"}}
	m := manifest{SchemaVersion: 2, MediaType: manifestType}
	for _, entries := range layers {
		raw, err := pack(entries, r.created)
		if err != nil {
			return nil, err
		}
		compressed, err := compress(raw)
		if err != nil {
			return nil, err
		}
		config.RootFS.DiffIDs = append(config.RootFS.DiffIDs, digest(raw))
		config.History = append(config.History, history{r.created, "make image"})
		m.Layers = append(m.Layers, store(layerType, compressed))
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	m.Config = store(configType, text)
	if text, err = json.Marshal(m); err != nil {
		return nil, err
	}
	image := store(manifestType, text)
	image.Platform = &os
	image.Annotations = map[string]string{"org.opencontainers.image.ref.name": tag(name), "io.containerd.image.name": name}
	list := loadable{Config: blobPath(m.Config.Digest), RepoTags: []string{name}}
	for _, l := range m.Layers {
		list.Layers = append(list.Layers, blobPath(l.Digest))
	}
	for _, f := range []struct {
		name  string
		value any
	}{
		{"oci-layout", map[string]string{"imageLayoutVersion": "1.0.0"}},
		{"index.json", index{SchemaVersion: 2, MediaType: indexType, Manifests: []descriptor{image}}},
		{"manifest.json", []loadable{list}},
	} {
		if text, err = json.Marshal(f.value); err != nil {
			return nil, err
		}
		blobs = append(blobs, entry{name: f.name, mode: 0o644, kind: kindFile, content: text})
	}
	return pack(blobs, r.created)
}

// pack returns a tar archive of the entries.
func pack(entries []entry, at time.Time) ([]byte, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for _, e := range entries {
		h := &tar.Header{
			Typeflag: e.kind, Name: e.name, Linkname: e.target, Size: int64(len(e.content)), Mode: e.mode, Uid: e.user, ModTime: at,
			Format: tar.FormatUSTAR,
		}
		if e.kind == kindDirectory {
			h.Name += "/"
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
		if _, err := w.Write(e.content); err != nil {
			return nil, fmt.Errorf("%s: %w", e.name, err)
		}
	}
	err := w.Close()
	return archive.Bytes(), err
}

func compress(raw []byte) ([]byte, error) {
	var compressed bytes.Buffer
	w, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := io.Copy(w, bytes.NewReader(raw)); err != nil {
		return nil, err
	}
	err = w.Close()
	return compressed.Bytes(), err
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blobPath(digest string) string { return "blobs/sha256/" + digest[len("sha256:"):] }

// tag returns what stands behind the last colon of a name.
func tag(name string) string {
	for i := len(name) - 1; i >= 0; i-- {
		if name[i] == ':' {
			return name[i+1:]
		}
	}
	return "latest"
}

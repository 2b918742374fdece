// Package kubernetes checks the example in bartleby.yaml: every field is one that Kubernetes knows, what refers to
// something finds it, and the broker, configured as there, answers the probes. It is a module of its own, so that
// Kubernetes' types are nobody else's.
//
//	go test -C packaging/kubernetes ./... -args -binary ../../build/bartleby
package kubernetes

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

var binary = flag.String("binary", "", "the broker; without it, the example is only read")

// The example, by kind.
type example struct {
	secret   core.Secret
	config   core.ConfigMap
	services []core.Service
	set      apps.StatefulSet
}

func read(t *testing.T) (e example) {
	t.Helper()
	text, err := os.ReadFile("bartleby.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal(document, &kind); err != nil {
			t.Fatal(err)
		}
		var service core.Service
		into, ok := map[string]any{
			"Secret": &e.secret, "ConfigMap": &e.config, "Service": &service, "StatefulSet": &e.set,
		}[kind.Kind]
		if !ok {
			t.Fatalf("a %q", kind.Kind)
		}
		if err := yaml.UnmarshalStrict(document, into); err != nil {
			t.Fatalf("%s: %v", kind.Kind, err)
		}
		if kind.Kind == "Service" {
			e.services = append(e.services, service)
		}
	}
	return e
}

func (e example) container(t *testing.T) core.Container {
	t.Helper()
	if n := len(e.set.Spec.Template.Spec.Containers); n != 1 {
		t.Fatalf("%d containers", n)
	}
	return e.set.Spec.Template.Spec.Containers[0]
}

func TestReferences(t *testing.T) {
	// If this fails, Kubernetes takes the example and the pod never starts, or no service leads to it.
	t.Parallel()
	e := read(t)
	spec, c := e.set.Spec, e.container(t)
	ports := map[string]int32{}
	for _, p := range c.Ports {
		ports[p.Name] = p.ContainerPort
	}
	labels := spec.Template.Labels
	within := func(what string, selector map[string]string) {
		t.Helper()
		for k, v := range selector {
			if labels[k] != v {
				t.Errorf("%s selects %s=%s, the pods have %v", what, k, v, labels)
			}
		}
		if len(selector) == 0 {
			t.Errorf("%s selects everything", what)
		}
	}
	within("the set", spec.Selector.MatchLabels)
	headless := false
	for _, s := range e.services {
		within(s.Name, s.Spec.Selector)
		for _, p := range s.Spec.Ports {
			if ports[p.TargetPort.StrVal] != p.Port {
				t.Errorf("%s: port %d leads to %q, which is %d", s.Name, p.Port, p.TargetPort.StrVal, ports[p.TargetPort.StrVal])
			}
		}
		headless = headless || s.Name == spec.ServiceName && s.Spec.ClusterIP == core.ClusterIPNone
	}
	if !headless {
		t.Errorf("no headless service %q", spec.ServiceName)
	}
	volumes := []string{}
	for _, v := range spec.Template.Spec.Volumes {
		volumes = append(volumes, v.Name)
		if v.ConfigMap != nil && v.ConfigMap.Name != e.config.Name {
			t.Errorf("the volume %s wants the ConfigMap %q", v.Name, v.ConfigMap.Name)
		}
	}
	for _, v := range spec.VolumeClaimTemplates {
		volumes = append(volumes, v.Name)
	}
	for _, m := range c.VolumeMounts {
		if !slices.Contains(volumes, m.Name) {
			t.Errorf("no volume %q for %s", m.Name, m.MountPath)
		}
	}
	for _, v := range c.Env {
		if ref := v.ValueFrom.SecretKeyRef; ref.Name != e.secret.Name || e.secret.StringData[ref.Key] == "" {
			t.Errorf("%s wants %s of the secret %q", v.Name, ref.Key, ref.Name)
		}
	}
	if *spec.Replicas != 1 {
		t.Errorf("%d replicas, and no cluster", *spec.Replicas)
	}
}

func TestProbes(t *testing.T) {
	// If this fails, Kubernetes never calls the pod ready, or kills it though it is well, or the user of the secret
	// cannot log in.
	t.Parallel()
	if *binary == "" {
		t.Skip("needs -binary")
	}
	e := read(t)
	c := e.container(t)
	b := start(t, e)
	for name, probe := range map[string]*core.Probe{"startup": c.StartupProbe, "readiness": c.ReadinessProbe, "liveness": c.LivenessProbe} {
		switch {
		case probe == nil:
			t.Errorf("no %s probe", name)
		case probe.HTTPGet != nil:
			if got := probe.HTTPGet.Port.StrVal; got != "management" {
				t.Errorf("the %s probe asks the port %q", name, got)
			}
			if code, text := b.get(t, probe.HTTPGet.Path, ""); code != http.StatusOK {
				t.Errorf("the %s probe: %d: %s", name, code, text)
			}
			if code, _ := b.get(t, probe.HTTPGet.Path+"-not", ""); code < 300 {
				t.Errorf("the %s probe cannot fail: %d", name, code)
			}
		case probe.Exec != nil:
			b.tool(t, true, probe.Exec.Command...)
			defer b.tool(t, false, probe.Exec.Command...)
			defer b.stop(t)
		default:
			t.Errorf("the %s probe asks nothing", name)
		}
	}
	if code, text := b.get(t, "/api/whoami", e.secret.StringData["username"]+":"+e.secret.StringData["password"]); code != http.StatusOK {
		t.Errorf("the user of the secret: %d: %s", code, text)
	}
	if code, _ := b.get(t, "/api/whoami", "guest:guest"); code != http.StatusUnauthorized {
		t.Errorf("guest: %d", code)
	}
}

// A broker runs as the pod's container would, on ports of its own.
type broker struct {
	cmd        *exec.Cmd
	management string
	dir        string
}

func start(t *testing.T, e example) *broker {
	t.Helper()
	b := &broker{management: free(t), dir: t.TempDir()}
	conf := filepath.Join(b.dir, "conf.d")
	if err := os.Mkdir(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range e.config.Data {
		if err := os.WriteFile(filepath.Join(conf, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"rabbitmq-server", "rabbitmq-diagnostics"} {
		path, err := filepath.Abs(*binary)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(b.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.cmd = exec.Command(filepath.Join(b.dir, "rabbitmq-server"), "--data", filepath.Join(b.dir, "data"),
		"--listen", free(t), "--management", b.management, "--prometheus", "")
	b.cmd.Env = []string{"HOME=" + b.dir, "RABBITMQ_CONFIG_FILES=" + conf}
	for _, v := range e.container(t).Env {
		b.cmd.Env = append(b.cmd.Env, v.Name+"="+e.secret.StringData[v.ValueFrom.SecretKeyRef.Key])
	}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	b.cmd.Stdout, b.cmd.Stderr = in, in
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	t.Cleanup(func() { b.cmd.Process.Kill() })
	var said strings.Builder
	for buffer := make([]byte, 4096); !strings.Contains(said.String(), "Server startup complete"); {
		n, err := out.Read(buffer)
		if err != nil {
			t.Fatalf("the broker does not start: %s", &said)
		}
		said.Write(buffer[:n])
	}
	go io.Copy(io.Discard, out)
	return b
}

func (b *broker) stop(t *testing.T) {
	t.Helper()
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Wait(); err != nil {
		t.Errorf("asked to stop: %v", err)
	}
}

// get asks the management API, as user:password or as nobody.
func (b *broker) get(t *testing.T, path, login string) (int, string) {
	t.Helper()
	request, err := http.NewRequest("GET", "http://"+b.management+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if user, password, ok := strings.Cut(login, ":"); ok {
		request.SetBasicAuth(user, password)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// tool runs what a probe executes, which succeeds or does not.
func (b *broker) tool(t *testing.T, succeeds bool, command ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(b.dir, command[0]), command[1:]...)
	cmd.Env = []string{"BARTLEBY_DATA=" + filepath.Join(b.dir, "data"), "BARTLEBY_MANAGEMENT=http://" + b.management}
	if out, err := cmd.CombinedOutput(); (err == nil) != succeeds {
		t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
}

// free finds an address of the loopback on which nobody listens.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return fmt.Sprint(l.Addr())
}

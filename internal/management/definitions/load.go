package definitions

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/accounts"
	"github.com/bartleby-mq/bartleby/internal/amqp"
	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/resources"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

// hashParameter is the global parameter that remembers which definitions were loaded last.
// Source: RabbitMQ definitions.skip_if_unchanged.
const hashParameter = "imported_definition_hash_value"

// Load names definitions that a broker imports when it starts, before anybody can connect.
// Source: RabbitMQ load_definitions, definitions.skip_if_unchanged.
type Load struct {
	Path            string // a file, or a directory of which every *.json is taken, in the order of their names
	SkipIfUnchanged bool   // nothing is imported if the files are what was loaded last
	Passwords       resources.Passwords
}

// ResumeImport goes on with an import that the end of the process interrupted; it does nothing if there is none. It
// belongs between the opening of the engine and that of the listeners. What hinders it is logged,
// and tried again at the next start: a virtual host that cannot be opened keeps no broker from
// starting.
func ResumeImport(ctx context.Context, e *engine.Engine, log *slog.Logger) {
	interrupted := e.Accounts().Import()
	if interrupted == nil {
		return
	}
	if err := e.Opened(ctx); err != nil {
		return
	}
	log.Info("resuming an interrupted import of definitions", "source", interrupted.Source)
	if err := newImporter(e, log, resources.Passwords{}).resume(ctx, interrupted); err != nil {
		log.Error("cannot resume an interrupted import of definitions", "source", interrupted.Source, "error", err)
	}
}

// LoadFile imports files as POST /api/definitions does. An error names the file; what was imported before it
// stands.
func LoadFile(ctx context.Context, e *engine.Engine, log *slog.Logger, l Load) error {
	files, err := l.files()
	if err != nil {
		return fmt.Errorf("definitions: %w", err)
	}
	texts, sum := make([][]byte, len(files)), sha256.New()
	for i, file := range files {
		if texts[i], err = os.ReadFile(file); err != nil {
			return fmt.Errorf("definitions: %w", err)
		}
		sum.Write(texts[i])
	}
	hash := []byte(strconv.Quote(hex.EncodeToString(sum.Sum(nil))))
	if before, loaded := e.Accounts().GlobalParameter(hashParameter); l.SkipIfUnchanged && loaded &&
		string(before.Value) == string(hash) {
		log.Info("definitions are unchanged since they were last loaded", "path", l.Path)
		return nil
	}
	if err := e.Opened(ctx); err != nil {
		return fmt.Errorf("definitions: %w", err)
	}
	m := newImporter(e, log, l.Passwords)
	for i, file := range files {
		if err := m.load(ctx, file, texts[i]); err != nil {
			return fmt.Errorf("definitions in %s: %w", file, err)
		}
	}
	if l.SkipIfUnchanged {
		remember := accounts.Command{Kind: accounts.SetGlobalParameter, Name: hashParameter, Value: hash}
		if _, err := e.ChangeAccounts(ctx, remember); err != nil {
			return fmt.Errorf("definitions: %w", err)
		}
	}
	return nil
}

func (l *Load) files() ([]string, error) {
	about, err := os.Stat(l.Path)
	if err != nil || !about.IsDir() {
		return []string{l.Path}, err
	}
	entries, err := os.ReadDir(l.Path) // sorted by name
	var files []string
	for _, x := range entries {
		if !x.IsDir() && strings.HasSuffix(x.Name(), ".json") {
			files = append(files, filepath.Join(l.Path, x.Name()))
		}
	}
	return files, err
}

// load imports one file, with a record in the audit log.
func (m *importer) load(ctx context.Context, file string, text []byte) error {
	d := new(definitions)
	if err := api.Decode(text, &d.Definitions); err != nil {
		return err
	}
	detail, err := json.Marshal(d.counts())
	if err != nil {
		return err
	}
	name := strings.ToValidUTF8(file, "?")
	if err := m.run(ctx, d, name[:min(len(name), amqp.ShortStringMax)]); err != nil {
		return err
	}
	deed := accounts.Deed{
		At: m.engine.Now().UnixMilli(), User: accounts.LocalBroker, Action: "IMPORT",
		Object: name[:min(len(name), web.ObjectBytesMax)], Status: 204, Detail: detail,
	}
	m.log.Info("definitions loaded", "file", file, "what", string(detail))
	_, err = m.engine.ChangeAccounts(ctx, accounts.Command{Kind: accounts.RecordDeed, Deed: deed})
	return err
}

package management

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/authz"
	"github.com/bartleby-mq/bartleby/internal/engine"
	"github.com/bartleby-mq/bartleby/internal/management/web"
)

func backupEndpoints() []web.Endpoint {
	return []web.Endpoint{
		{
			Pattern: "GET x/backup", Tag: authz.Administrator, Serve: getBackup, Media: "application/x-tar", Audit: web.AuditBefore,
			Summary: "Backup as a tar file",
		},
		{
			Pattern: "POST x/backup", Tag: authz.Administrator, Serve: postBackup, Media: "application/json",
			Summary: "Writes a backup to a directory on the broker's machine", In: api.PostBackup{}, Out: api.Backup{},
		},
	}
}

// postBackup copies everything into a directory of this machine.
func postBackup(r *web.Request) (web.Answer, error) {
	var body api.PostBackup
	if err := r.ReadKnown(&body); err != nil {
		return web.Answer{}, err
	}
	if err := web.NeedKeys(web.Needed("path", body.Path != "")); err != nil {
		return web.Answer{}, err
	}
	r.AllowLong(0)
	b, err := r.Engine.BackupTo(r.Context(), body.Path)
	if err != nil {
		return web.Answer{}, refuseBackup(err)
	}
	return web.OK(showBackup(&b))
}

// getBackup sends everything as a tar file. What was made is told in a trailer; a connection that is cut before that
// says that the file is not complete.
func getBackup(r *web.Request) (web.Answer, error) {
	w := &tarAnswer{Request: r}
	if r.Method == http.MethodHead {
		return web.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {tarType}}}, nil
	}
	b, err := r.Engine.BackupTar(r.Context(), w)
	switch {
	case err == nil:
		text, err := json.Marshal(showBackup(&b))
		if err != nil {
			return web.Answer{}, err
		}
		r.Writer.Header().Set(http.TrailerPrefix+api.BackupTrailer, string(text))
		return web.Answer{Sent: true}, nil
	case w.begun:
		panic(http.ErrAbortHandler) // net/http's way to cut the connection
	}
	return web.Answer{}, refuseBackup(err)
}

const tarType = "application/x-tar"

// tarAnswer is the body of a tar file; its header is sent when there is something of it.
type tarAnswer struct {
	*web.Request
	begun bool
}

// Write implements io.Writer.
func (w *tarAnswer) Write(p []byte) (int, error) {
	if !w.begun {
		w.begun = true
		h := w.Writer.Header()
		h.Set("Content-Type", tarType)
		h.Set("Cache-Control", "no-cache")
		w.Writer.WriteHeader(http.StatusOK)
	}
	w.AllowLong(web.TakeWithin)
	return w.Writer.Write(p)
}

// refuseBackup puts why there is no backup into the words of this API.
func refuseBackup(err error) error {
	switch {
	case errors.Is(err, engine.ErrBackupUnderWay):
		return &api.Error{Status: http.StatusConflict, Kind: "conflict", Reason: err.Error()}
	case errors.Is(err, engine.ErrBackupPlace):
		return web.BadRequest("%v", err)
	case errors.Is(err, engine.ErrBackupSpace):
		return &api.Error{Status: http.StatusInsufficientStorage, Kind: "insufficient_storage", Reason: err.Error()}
	}
	return &api.Error{Status: http.StatusInternalServerError, Kind: "internal_server_error", Reason: "backup failed: " + err.Error()}
}

func showBackup(b *engine.Backup) api.Backup {
	return api.Backup{
		At: b.At.UTC().Format(web.FormatTime), To: b.To, Seconds: b.Took.Seconds(), Files: b.Files, Bytes: b.Bytes, Damage: b.Damage,
	}
}

func showBackups(b engine.Backups) api.Backups {
	shown := api.Backups{Running: b.Running, BytesCopied: b.Copied, BytesExpected: b.Bytes, Made: b.Made, Failed: b.Failed}
	if b.Last != nil {
		last := showBackup(b.Last)
		shown.Last = &last
	}
	if b.LastFailure != nil {
		shown.LastFailure = b.LastFailure.Error()
	}
	return shown
}

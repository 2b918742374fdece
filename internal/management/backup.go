package management

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/engine"
)

// postBackup copies everything into a directory of this machine.
func postBackup(r *request) (answer, error) {
	var body api.PostBackup
	if err := r.readKnown(&body); err != nil {
		return answer{}, err
	}
	if err := needKeys(key{"path", body.Path != ""}); err != nil {
		return answer{}, err
	}
	r.takesLong(0)
	b, err := r.server.engine.BackupTo(r.Context(), body.Path)
	if err != nil {
		return answer{}, refuseBackup(err)
	}
	return ok(showBackup(&b))
}

// getBackup sends everything as a tar file. What was made is told in a trailer; a connection that is cut before that says
// that the file is not complete.
func getBackup(r *request) (answer, error) {
	w := &tarAnswer{request: r}
	if r.Method == http.MethodHead {
		return answer{status: http.StatusOK, header: http.Header{"Content-Type": {tarType}}}, nil
	}
	b, err := r.server.engine.BackupTar(r.Context(), w)
	switch {
	case err == nil:
		text, err := json.Marshal(showBackup(&b))
		if err != nil {
			return answer{}, err
		}
		r.writer.Header().Set(http.TrailerPrefix+api.BackupTrailer, string(text))
		return answer{sent: true}, nil
	case w.begun:
		panic(http.ErrAbortHandler) // net/http's way to cut the connection
	}
	return answer{}, refuseBackup(err)
}

const tarType = "application/x-tar"

// tarAnswer is the body of a tar file; its header is sent when there is something of it.
type tarAnswer struct {
	*request
	begun bool
}

// Write implements io.Writer.
func (w *tarAnswer) Write(p []byte) (int, error) {
	if !w.begun {
		w.begun = true
		h := w.writer.Header()
		h.Set("Content-Type", tarType)
		h.Set("Cache-Control", "no-cache")
		w.writer.WriteHeader(http.StatusOK)
	}
	w.takesLong(takeWithin)
	return w.writer.Write(p)
}

// takesLong lifts the limits of time that other requests have; the next piece of the answer has to be taken within that
// time, if it is not zero.
func (r *request) takesLong(within time.Duration) {
	control, until := http.NewResponseController(r.writer), time.Time{}
	if within > 0 {
		until = time.Now().Add(within)
	}
	// Where there are no limits, none can be lifted.
	_ = control.SetReadDeadline(time.Time{})
	_ = control.SetWriteDeadline(until)
}

// refuseBackup puts why there is no backup into the words of this API.
func refuseBackup(err error) error {
	switch {
	case errors.Is(err, engine.ErrBackupUnderWay):
		return &api.Error{Status: http.StatusConflict, Kind: "conflict", Reason: err.Error()}
	case errors.Is(err, engine.ErrBackupPlace):
		return badRequest("%v", err)
	case errors.Is(err, engine.ErrBackupSpace):
		return &api.Error{Status: http.StatusInsufficientStorage, Kind: "insufficient_storage", Reason: err.Error()}
	}
	return &api.Error{Status: http.StatusInternalServerError, Kind: "internal_server_error", Reason: "backup failed: " + err.Error()}
}

func showBackup(b *engine.Backup) api.Backup {
	return api.Backup{
		At: b.At.UTC().Format(isoTime), To: b.To, Seconds: b.Took.Seconds(), Files: b.Files, Bytes: b.Bytes, Damage: b.Damage,
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

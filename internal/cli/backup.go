package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
)

// backupPatience is as long as a backup may take, unless --timeout says otherwise.
const backupPatience = 30 * 24 * time.Hour

// backup copies everything a running broker keeps into a directory of its machine, or into a tar file here.
func backup(c *call) error {
	file, isTar := c.words.get("tar")
	switch {
	case isTar && len(c.args) > 0:
		return c.invalid("give either a directory on the broker's machine or --tar with a local file, not both.")
	case !isTar && len(c.args) == 0:
		return c.invalid("give a directory on the broker's machine, or --tar with a local file.")
	}
	if isTar {
		return c.backupTar(file)
	}
	path := c.args[0]
	if !filepath.IsAbs(path) {
		if !isLocal(c.client.Base) {
			return c.invalid(fmt.Sprintf("'%s' must be an absolute path on the broker's machine.", path))
		}
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	c.banner("Backing up node %s to %s ...", c.node, path)
	var b api.Backup
	if err := c.client.Post(c.ctx, api.PostBackup{Path: path}, &b, "x", "backup"); err != nil {
		return refusedBackup(err)
	}
	return c.backedUp(&b, c.stdout)
}

// backupTar writes a tar file, which has its name when it is complete; "-" is standard output.
func (c *call) backupTar(file string) error {
	if file == "-" {
		b, err := c.takeTar(c.stdout)
		if err != nil {
			return err
		}
		return c.backedUp(b, c.stderr)
	}
	if _, err := os.Lstat(file); err == nil {
		return failf(exitData, "%s already exists", file)
	}
	c.banner("Backing up node %s to %s ...", c.node, file)
	part := file + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return failf(exitData, "%v", err)
	}
	b, err := c.takeTar(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(part, file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return c.backedUp(b, c.stdout)
}

// takeTar writes a tar file to w, and returns what the broker says of it.
func (c *call) takeTar(w io.Writer) (*api.Backup, error) {
	trailer, err := c.client.Copy(c.ctx, w, "x", "backup")
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, failf(exitUnavailable, "the backup was aborted; see the broker's log")
	case err != nil:
		return nil, refusedBackup(err)
	}
	var b api.Backup
	if err := json.Unmarshal([]byte(trailer.Get(api.BackupTrailer)), &b); err != nil {
		return nil, failf(exitUnavailable, "the backup is incomplete: the broker did not confirm its end")
	}
	return &b, nil
}

// refusedBackup tells what the broker says, if it answers.
func refusedBackup(err error) error {
	var refused *api.Error
	if errors.As(err, &refused) {
		switch refused.Kind {
		case "bad_request":
			return failf(exitData, "%s", refused.Reason)
		case "conflict", "insufficient_storage", "internal_server_error":
			return failf(exitUnavailable, "%s", refused.Reason)
		}
	}
	return err
}

// backedUp says what was made, and what is wrong with it.
func (c *call) backedUp(b *api.Backup, w io.Writer) error {
	if w == c.stdout && c.machine() {
		text, err := json.Marshal(b)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, string(text))
	} else if !c.words.on("silent") && !c.words.on("quiet") {
		fmt.Fprintf(w, "%d files, %d bytes, in %.1f s, as of %s\n", b.Files, b.Bytes, b.Seconds, b.At)
	}
	if len(b.Damage) == 0 {
		return nil
	}
	text := "The backup is complete, but the broker's data is damaged, and so is the copy:"
	for _, d := range b.Damage {
		text += "\n  " + d
	}
	return failf(exitData, "%s", text)
}

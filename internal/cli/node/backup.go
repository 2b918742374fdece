package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// backupPatience is as long as a backup may take, unless --timeout says otherwise.
const backupPatience = 30 * 24 * time.Hour

// backup copies everything a running broker keeps into a directory of its machine, or into a tar file here.
func backup(c *command.Call) error {
	file, isTar := c.Options.Get("tar")
	switch {
	case isTar && len(c.Args) > 0:
		return c.Invalid("give either a directory on the broker's machine or --tar with a local file, not both.")
	case !isTar && len(c.Args) == 0:
		return c.Invalid("give a directory on the broker's machine, or --tar with a local file.")
	}
	if isTar {
		return backupTar(c, file)
	}
	path := c.Args[0]
	if !filepath.IsAbs(path) {
		if !command.IsLocal(c.Client.Base) {
			return c.Invalid(fmt.Sprintf("'%s' must be an absolute path on the broker's machine.", path))
		}
		var err error
		if path, err = filepath.Abs(path); err != nil {
			return err
		}
	}
	c.Banner("Backing up node %s to %s ...", c.Node, path)
	var b api.Backup
	if err := c.Client.Post(c.Ctx, api.PostBackup{Path: path}, &b, "x", "backup"); err != nil {
		return refusedBackup(err)
	}
	return backedUp(c, &b, c.Stdout)
}

// backupTar writes a tar file, which has its name when it is complete; "-" is standard output.
func backupTar(c *command.Call, file string) error {
	if file == "-" {
		b, err := takeTar(c, c.Data)
		if err != nil {
			return err
		}
		return backedUp(c, b, c.Stderr)
	}
	if _, err := os.Lstat(file); err == nil {
		return command.Failf(command.ExitData, "%s already exists", file)
	}
	c.Banner("Backing up node %s to %s ...", c.Node, file)
	part := file + ".part"
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return command.Failf(command.ExitData, "%v", err)
	}
	b, err := takeTar(c, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(part, file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return backedUp(c, b, c.Stdout)
}

// takeTar writes a tar file to w, and returns what the broker says of it.
func takeTar(c *command.Call, w io.Writer) (*api.Backup, error) {
	trailer, err := c.Client.Copy(c.Ctx, w, "x", "backup")
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, command.Failf(command.ExitUnavailable, "the backup was aborted; see the broker's log")
	case err != nil:
		return nil, refusedBackup(err)
	}
	var b api.Backup
	if err := json.Unmarshal([]byte(trailer.Get(api.BackupTrailer)), &b); err != nil {
		return nil, command.Failf(command.ExitUnavailable, "the backup is incomplete: the broker did not confirm its end")
	}
	return &b, nil
}

// refusedBackup tells what the broker says, if it answers.
func refusedBackup(err error) error {
	var refused *api.Error
	if errors.As(err, &refused) {
		switch refused.Kind {
		case "bad_request":
			return command.Failf(command.ExitData, "%s", refused.Reason)
		case "conflict", "insufficient_storage", "internal_server_error":
			return command.Failf(command.ExitUnavailable, "%s", refused.Reason)
		}
	}
	return err
}

// backedUp says what was made, and what is wrong with it.
func backedUp(c *command.Call, b *api.Backup, w io.Writer) error {
	if w == c.Stdout && c.Machine() {
		text, err := json.Marshal(b)
		if err != nil {
			return err
		}
		fmt.Fprintln(w, string(text))
	} else if !c.Options.On("silent") && !c.Options.On("quiet") {
		fmt.Fprintf(w, "%d files, %d bytes, in %.1f s, as of %s\n", b.Files, b.Bytes, b.Seconds, b.At)
	}
	if len(b.Damage) == 0 {
		return nil
	}
	text := "The backup is complete, but the broker's data is damaged, and so is the copy:"
	for _, d := range b.Damage {
		text += "\n  " + d
	}
	return command.Failf(command.ExitData, "%s", text)
}

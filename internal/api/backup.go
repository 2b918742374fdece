package api

// BackupTrailer is the trailer of GET /api/x/backup with the Backup as JSON, once the tar file is complete.
const BackupTrailer = "Bartleby-Backup"

// PostBackup is the body of POST /api/x/backup.
type PostBackup struct {
	Path string `json:"path"` // of a directory on the broker's machine, absolute; new or empty
}

// A Backup that was made.
type Backup struct {
	At      string       `json:"at"` // of which moment: RFC 3339 with ms
	To      string       `json:"to"` // a directory, or tar
	Seconds float64      `json:"seconds"`
	Files   int          `json:"files"`
	Bytes   int64        `json:"bytes"`
	Damage  List[string] `json:"damage"` // that the original has, and so the backup
}

// Backups is what became of backups since the broker started.
type Backups struct {
	Running       bool    `json:"running"`
	BytesCopied   int64   `json:"bytes_copied"` // of the one that is running
	BytesExpected int64   `json:"bytes_expected"`
	Made          uint64  `json:"made"`
	Failed        uint64  `json:"failed"`
	Last          *Backup `json:"last"`         // null: none was made
	LastFailure   string  `json:"last_failure"` // of the newest one; empty: it was made
}

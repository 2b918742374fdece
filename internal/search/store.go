package search

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the driver
)

// A store keeps segments, and what is known of virtual hosts, in one file of SQLite. Whatever is wrong with it is an
// error and never worse: the index is an aid.
//
//	segment: number, the number of its virtual host, meta as JSON, gone as a bitmap
//	part: number of the segment, name, octets with a CRC-32C behind them
//	vhost: number, state as JSON
type store struct {
	path string
	mu   struct {
		sync.RWMutex // held while the file is made anew
		db           *sql.DB
		parts        *sql.Stmt // reads one
	}
}

// storeFile is its name.
const storeFile = "letters.sqlite"

// storeFormat is the user_version of the file: another one is not read.
const storeFormat = 2

const storeTables = `
create table segment(number integer primary key, vhost integer not null, meta blob not null, gone blob not null);
create table part(segment integer not null, name text not null, octets blob not null, unique(segment, name));
create table vhost(number integer primary key, state blob not null);`

// storePragmas are for the one connection. The size of pages has to come before all that writes.
const storePragmas = `pragma page_size = %d; pragma auto_vacuum = incremental; pragma locking_mode = exclusive; pragma journal_mode = wal;
pragma synchronous = normal; pragma cache_size = -%d; pragma journal_size_limit = 8388608; pragma temp_store = memory;`

// storeCache is how much memory SQLite has for pages, in KiB, and storePage how large they are, in bytes.
const (
	storeCache = 8 << 10
	storePage  = 16 << 10
)

// openStore opens the store in a directory. One that cannot be used is deleted and made anew, and the log is told.
func openStore(dir string, log *slog.Logger) (*store, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	path := filepath.Join(dir, storeFile)
	s, err := openFile(path)
	if err == nil {
		return s, nil
	}
	log.Warn("cannot use the dead-letter index: rebuilding it", "file", path, "error", err)
	if err := removeStore(path); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	if s, err = openFile(path); err != nil {
		return nil, fmt.Errorf("index: %w", err)
	}
	return s, nil
}

func removeStore(path string) error {
	var errs []error
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func openFile(path string) (s *store, err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o640) // with the rights that the others have
	if err != nil {
		return nil, err
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	escaped := strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)
	db, err := sql.Open("sqlite", "file:"+escaped)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // which has the file alone
	s = &store{path: path}
	s.mu.db = db
	defer func() {
		if err != nil {
			err = errors.Join(err, db.Close())
		}
	}()
	if _, err := db.Exec(fmt.Sprintf(storePragmas, storePage, storeCache)); err != nil {
		return nil, err
	}
	var format, tables int
	if err := db.QueryRow("pragma user_version").Scan(&format); err != nil {
		return nil, err
	}
	if err := db.QueryRow("select count(*) from sqlite_schema").Scan(&tables); err != nil {
		return nil, err
	}
	switch {
	case format == 0 && tables == 0:
		if _, err := db.Exec(storeTables + fmt.Sprintf("pragma user_version = %d", storeFormat)); err != nil {
			return nil, err
		}
	case format != storeFormat:
		return nil, fmt.Errorf("its format is %d, this build reads %d", format, storeFormat)
	}
	s.mu.parts, err = db.Prepare("select octets from part where segment = ? and name = ?")
	return s, err
}

func (s *store) close() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.mu.db.Close()
}

// renew deletes all and begins anew.
func (s *store) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := errors.Join(s.mu.db.Close(), removeStore(s.path)); err != nil {
		return err
	}
	fresh, err := openFile(s.path)
	if err != nil {
		return err
	}
	s.mu.db, s.mu.parts = fresh.mu.db, fresh.mu.parts
	return nil
}

// bytes is how much the file takes.
func (s *store) bytes() (n int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var pages, free int64
	if s.mu.db.QueryRow("pragma page_count").Scan(&pages) != nil || s.mu.db.QueryRow("pragma freelist_count").Scan(&free) != nil {
		return 0
	}
	return (pages - free) * storePage
}

// shrink gives free pages back to the file system, some at a time.
func (s *store) shrink() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, err := s.mu.db.Exec("pragma incremental_vacuum(256)")
	return err
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// part reads one part of a segment; nil if it has none of that name.
func (s *store) part(segment uint64, name string) ([]byte, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var b []byte
	err := s.mu.parts.QueryRow(int64(segment), name).Scan(&b)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("segment %d, %s: %w", segment, name, errors.Join(errDamaged, err))
	}
	n := len(b) - 4
	if n < 0 || crc32.Checksum(b[:n], castagnoli) != uint32(b[n])|uint32(b[n+1])<<8|uint32(b[n+2])<<16|uint32(b[n+3])<<24 {
		return nil, fmt.Errorf("segment %d, %s: checksum mismatch: %w", segment, name, errDamaged)
	}
	return b[:n:n], nil
}

// A change is stored as a whole or not at all.
type change struct {
	vhost     uint32
	state     *record           // nil: as it was
	add       *segment          // with parts
	addGone   []byte            // what of that has gone
	drop      []uint64          // segments
	gone      map[uint64][]byte // of segments that have changed
	dropAll   bool              // all of the virtual host, its state too
	forgotten bool              // there was no space for some
}

func (s *store) apply(c *change) (err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	tx, err := s.mu.db.Begin()
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, tx.Rollback())
		}
	}()
	exec := func(q string, args ...any) {
		if err == nil {
			_, err = tx.Exec(q, args...)
		}
	}
	if c.dropAll {
		exec("delete from part where segment in (select number from segment where vhost = ?)", c.vhost)
		exec("delete from segment where vhost = ?", c.vhost)
		exec("delete from vhost where number = ?", c.vhost)
	}
	for _, n := range c.drop {
		exec("delete from part where segment = ?", int64(n))
		exec("delete from segment where number = ?", int64(n))
	}
	for n, gone := range c.gone {
		exec("update segment set gone = ? where number = ?", gone, int64(n))
	}
	if c.add != nil {
		meta, fail := json.Marshal(&c.add.meta)
		err = errors.Join(err, fail)
		exec("insert into segment values(?, ?, ?, ?)", int64(c.add.number), c.vhost, meta, c.addGone)
		for name, b := range c.add.parts {
			sum := crc32.Checksum(b, castagnoli)
			exec("insert into part values(?, ?, ?)", int64(c.add.number), name, append(b[:len(b):len(b)], byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)))
		}
	}
	if c.forgotten {
		exec("update vhost set state = json_set(state, '$.Forgotten', json('true')) where number = ?", c.vhost)
	}
	if c.state != nil {
		state, fail := json.Marshal(c.state)
		err = errors.Join(err, fail)
		exec("insert or replace into vhost values(?, ?)", c.vhost, string(state))
	}
	if err != nil {
		return err
	}
	return tx.Commit()
}

// load visits all that is stored.
func (s *store) load(state func(vhost uint32, r *record), sealed func(vhost uint32, x *segment)) error {
	err := s.rows("select number, state from vhost", func(rows *sql.Rows) error {
		var number uint32
		var b []byte
		r := new(record)
		if err := errors.Join(rows.Scan(&number, &b), json.Unmarshal(b, r)); err != nil {
			return err
		}
		state(number, r)
		return nil
	})
	if err != nil {
		return err
	}
	return s.rows("select number, vhost, meta, gone from segment order by number", func(rows *sql.Rows) error {
		var number int64
		var of uint32
		var b, gone []byte
		if err := rows.Scan(&number, &of, &b, &gone); err != nil {
			return err
		}
		x := &segment{number: uint64(number)}
		if err := json.Unmarshal(b, &x.meta); err != nil {
			return err
		}
		if x.meta.Messages < 1 || x.meta.Messages > tailMessages || len(gone) != 8*len(newSet(x.meta.Messages)) {
			return errDamaged
		}
		x.gone = decodeSet(gone)
		x.left = x.meta.Messages - x.gone.len()
		sealed(of, x)
		return nil
	})
}

func (s *store) rows(q string, each func(*sql.Rows) error) (err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	rows, err := s.mu.db.Query(q)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Err(), rows.Close()) }()
	for rows.Next() {
		if err := each(rows); err != nil {
			return err
		}
	}
	return nil
}

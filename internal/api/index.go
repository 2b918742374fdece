package api

// An Index is what GET /api/x/index tells of the dead-letter index.
type Index struct {
	Enabled  bool   `json:"enabled"` // false: searches look at all messages
	Messages int64  `json:"letters"` // that it knows
	Behind   int64  `json:"behind"`  // messages that it has not looked at yet, about
	Bytes    int64  `json:"bytes"`   // on the disk
	LagMS    int64  `json:"lag_ms"`  // since all was known
	Indexed  uint64 `json:"indexed"` // messages that were taken since the broker started
}

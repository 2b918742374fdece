package perf

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// management is where a Bartleby's management API is and who asks; the zero one is none.
type management struct {
	base           string // without a path that /api/… does not follow
	user, password string // empty: those of the broker's URL
}

func (m *management) parse(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return err
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("want http://host:port")
	}
	if u.User != nil {
		m.user = u.User.Username()
		m.password, _ = u.User.Password()
	}
	u.User = nil
	m.base = strings.TrimSuffix(u.String(), "/")
	return nil
}

func (m *management) settle(t target) {
	if m.user == "" {
		m.user, m.password = t.user, t.password
	}
}

// schedule is what waits in a delayed exchange, seen through the management API.
type schedule struct {
	at              management
	vhost, exchange string
}

// What becomes of a message that is to be cancelled.
const (
	outcomeCancelled = "cancelled"
	outcomeFired     = "already_fired"
)

// pageMost is how many messages may be asked for at once.
const pageMost = 500

// next returns the IDs of limit messages, those due first, or of all if there are fewer.
func (s *schedule) next(ctx context.Context, limit int) (ids []string, err error) {
	after := ""
	for len(ids) < limit {
		var page struct {
			Items []struct {
				ID string `json:"id"`
			} `json:"items"`
			Next *string `json:"next"`
		}
		query := url.Values{"limit": {strconv.Itoa(min(limit-len(ids), pageMost))}}
		if after != "" {
			query.Set("after", after)
		}
		if err := s.do(ctx, http.MethodGet, "?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			ids = append(ids, item.ID)
		}
		if page.Next == nil {
			break
		}
		after = *page.Next
	}
	return ids, nil
}

// cancel cancels messages, and returns how many of them had which outcome.
func (s *schedule) cancel(ctx context.Context, ids []string) (outcomes map[string]int64, err error) {
	var answer struct {
		Outcomes map[string]int64 `json:"outcomes"`
	}
	err = s.do(ctx, http.MethodPost, "/cancel", map[string][]string{"ids": ids}, &answer)
	return answer.Outcomes, err
}

// purge ends all that waits, and returns how many that were.
func (s *schedule) purge(ctx context.Context) (int64, error) {
	var answer struct {
		Purged int64 `json:"purged"`
	}
	err := s.do(ctx, http.MethodDelete, "", nil, &answer)
	return answer.Purged, err
}

func (s *schedule) do(ctx context.Context, method, tail string, in, out any) error {
	var body io.Reader = http.NoBody
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(b)
	}
	where := s.at.base + "/api/x/scheduled/" + url.PathEscape(s.vhost) + "/" + url.PathEscape(s.exchange) + tail
	request, err := http.NewRequestWithContext(ctx, method, where, body)
	if err != nil {
		return err
	}
	request.SetBasicAuth(s.at.user, s.at.password)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, where, response.Status, bytes.TrimSpace(answer))
	}
	return json.Unmarshal(answer, out)
}

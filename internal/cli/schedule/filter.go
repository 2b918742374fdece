package schedule

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/api"
	"github.com/bartleby-mq/bartleby/internal/cli/command"
)

// What names messages by what they are, as options and in usages.
const (
	filterOptions = "message-id routing-key header from until where"
	filterUsage   = "<filter> ..."
)

// filterHelp is what help says of them.
func filterHelp() string {
	return `Select messages by their ids or by options; a message must match all given options. A time is a number of ms since the Unix
epoch, or like 2030-01-31T12:00:00Z. A key is the value of the header x-schedule-key that the publisher set.`
}

// readFilter reads the options that name messages by what they are, as a list is asked for them.
func readFilter(c *command.Call) (url.Values, error) {
	query := url.Values{}
	for option, name := range map[string]string{"message-id": "message_id", "routing-key": "routing_key", "header": "header", "where": "filter"} {
		if text, given := c.Options.Get(option); given {
			query.Set(name, text)
		}
	}
	if text := query.Get("header"); query.Has("header") && strings.Index(text, ":") < 1 {
		return nil, c.Invalid(fmt.Sprintf("the header '%s' must have the form name:value", text))
	}
	return query, readRange(c, query)
}

// readRange reads the options that say from when until when.
func readRange(c *command.Call, query url.Values) error {
	for _, name := range []string{"from", "until"} {
		if text, given := c.Options.Get(name); given {
			at, err := api.ParseInstant(text)
			if err != nil {
				return c.Invalid(err.Error())
			}
			query.Set(name, strconv.FormatInt(int64(at), 10))
		}
	}
	return nil
}

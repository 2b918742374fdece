package filter

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/bartleby-mq/bartleby/internal/fullwidth"
)

// likeField is a term that looks like a field with a value, sign is what stands before a value.
var (
	likeField = regexp.MustCompile(`^(-?)([A-Za-z][\w.-]*)(==|!=|=)(.+)$`)
	sign      = regexp.MustCompile(`^(==|!=|<=|>=|[=<>:])(.*)$`)
)

// chinese are Chinese names of fields: those of the console, of which a test of its dictionaries knows, and others.
var chinese = map[string]string{"原因": "reason", "死信原因": "reason", "死亡原因": "reason", "最近一次成为死信的原因": "reason",
	"首次原因": "first-reason", "首次成为死信的原因": "first-reason", "来源": "source", "来源队列": "source", "首次队列": "source",
	"最近队列": "last-queue", "最后队列": "last-queue", "最近一次成为死信的队列": "last-queue",
	"队列": "queue", "所在队列": "queue", "死信队列": "queue", "交换机": "exchange", "首次发布到的交换机": "exchange",
	"路由键": "key", "第一个路由键": "routing-key", "定时键": "schedule-key", "时长": "age", "距最近一次成为死信的时长": "age",
	"时间": "time", "死信时间": "time", "死亡时间": "time", "成为死信的时间": "time", "最近一次成为死信的时间": "time",
	"次数": "count", "死信次数": "count", "死亡次数": "count", "重投次数": "redrives", "重投后再次成为死信": "came-back", "状态": "state",
	"无主的原因": "cause", "无主原因": "cause", "挂起原因": "cause", "无主或挂起的原因": "cause",
	"目标": "target", "目标队列": "target", "无主死信的目标队列": "target", "无主时间": "lost-at", "成为无主死信的时间": "lost-at",
	"大小": "size", "消息大小": "size", "消息体大小": "size", "编号": "id", "编号或消息ID": "id",
	"消息ID": "message-id", "消息编号": "message-id", "关联ID": "correlation-id", "关联编号": "correlation-id",
	"类型": "type", "消息类型": "type", "用户": "user", "用户名": "user", "应用": "app", "内容类型": "content-type", "回复队列": "reply-to",
	"异常": "exception", "异常指纹": "fingerprint", "指纹": "fingerprint",
	"消息头": "headers", "消息头中的文本": "headers", "消息体": "body", "消息体中的文本": "body", "正文": "body"}

// chineseField is a term with such a name, or one of a header or of a value in the body, and a sign.
var chineseField = regexp.MustCompile(`^([-－]?)(\p{Han}+(?:ID)?)(\.[^:：=＝<>＜＞]+)?([:：=＝]|[<>＜＞][=＝]?)(.+)$`)

// inEnglish says how a term with a Chinese name of a field is written, "" if it has none.
func inEnglish(term string) string {
	m := chineseField.FindStringSubmatch(term)
	if m == nil {
		return ""
	}
	name, rest, value := chinese[m[2]], m[3], m[5]
	switch {
	case name == "" || rest != "" && name != "headers" && name != "body":
		return ""
	case rest != "":
		name = strings.TrimSuffix(name, "s") + rest // header.NAME
	}
	if to, ok := synonyms[value]; ok {
		value = to
	}
	return meant(fullwidth.FoldText(m[1]), name, fullwidth.FoldText(m[4]), value)
}

// Mistake returns an *Error if a filter that Parse accepts searches for words where its user most likely meant a field:
// reason!=expired, reason = expired, reson=expired, 原因：expired. It is for filters that somebody types. Stored ones
// stay valid.
func Mistake(text string) error {
	l, before := lexer{text: text}, ""
	for {
		w, ok, err := l.next()
		if err != nil || !ok {
			return err
		}
		term := text[w.start:w.end]
		if e := l.mistake(&w, term, before); e != nil {
			return e
		}
		if before = ""; w.name == "" {
			before = term
		}
	}
}

// mistake judges a term; before is the one before it, "" if that has a field.
func (l *lexer) mistake(w *written, term, before string) *Error {
	if m := likeField.FindStringSubmatch(term); m != nil && (w.name == "" || m[3] == "==") {
		if f, _ := fieldNamed(m[2]); f != nil && f.Name != "" {
			return l.fail(w, meant(m[1], m[2], m[3], m[4]))
		}
		if near := nearest(m[2]); near != "" {
			e := l.fail(w, noField(m[2]))
			e.Code, e.Known = "field", []string{near}
			return e
		}
	}
	if says := inEnglish(term); says != "" && w.name == "" {
		return l.fail(w, says)
	}
	m := sign.FindStringSubmatch(term)
	if m == nil || before == "" {
		return nil
	}
	not, name := "", before
	if before[0] == '-' {
		not, name = "-", before[1:]
	}
	if f, _ := fieldNamed(name); f == nil || f.Name == "" {
		return nil
	}
	value := m[2]
	if value == "" {
		value = l.rest()
	}
	return l.fail(w, meant(not, name, m[1], value))
}

// rest is the next term as it is written, without taking it.
func (l *lexer) rest() string {
	again := *l
	if w, ok, err := again.next(); ok && err == nil {
		return l.text[w.start:w.end]
	}
	return "VALUE"
}

// meant says how a field is written.
func meant(not, name, sign, value string) string {
	switch sign {
	case "=", "==":
		sign = ":"
	case "!=":
		if sign = ":"; not == "" {
			not = "-"
		} else {
			not = ""
		}
	}
	return fmt.Sprintf("write %s; to search for it as text, quote it", not+name+sign+value)
}

// nearest is the field whose name differs from a longer word by a character, or by two if it is long; "" if there is
// none. Most words before an equals sign are text: tenant=acme.
func nearest(given string) string {
	word, best := fieldWord(given), 2
	switch {
	case len(word) <= 3:
		return ""
	case len(word) > 7:
		best = 3
	}
	return closest(word, 4, best)
}

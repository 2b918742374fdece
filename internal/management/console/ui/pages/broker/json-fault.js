// What is wrong with JSON that a user has written, so that it can be said in other languages. Pure.

const wide = /^[\uff01-\uff5e“”‘’、。]$/; // signs of Chinese keyboards

// jsonFault takes apart what JSON.parse says of a text: {key, params}, a text and its parameters but what, the name of the field.
// Browsers give the place as a position or as a line and a column; Chromium gives none if it quotes the token, and Safari none at all.
export function jsonFault(message, text) {
  const whole = text.trimEnd();
  const position = /at position (\d+)/.exec(message);
  const place = /line (\d+) column (\d+)/.exec(message);
  let at = null;
  if (position) {
    const before = text.slice(0, Number(position[1])).split('\n');
    at = { line: before.length, column: before.at(-1).length + 1 };
  } else if (place) at = { line: Number(place[1]), column: Number(place[2]) };
  const lines = whole.split('\n');
  const end = at && (at.line > lines.length || (at.line === lines.length && at.column > lines.at(-1).length));
  if (end || /unexpected end|end of data|EOF|unterminated/i.test(message))
    return { key: 'form_words.json_cut', params: {} };
  const token =
    /^Unexpected token '?(.+?)'?, /s.exec(message)?.[1] ??
    (at && [...(lines[at.line - 1] ?? '').slice(at.column - 1)][0]);
  if (at && wide.test(token ?? '')) return { key: 'form_words.json_wide', params: { ...at, token } };
  if (at) return { key: 'form_words.json_at', params: at };
  if (token) return { key: 'form_words.json_token', params: { token } };
  return { key: 'form_words.json_bad', params: {} };
}

// isBase64 reports whether the broker reads a text as base64: with padding, and with line breaks anywhere.
export const isBase64 = (text) =>
  /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text.replace(/[\r\n]/g, ''));

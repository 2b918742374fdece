// Payloads as texts. Pure.

// bytesOf decodes what the API sends: a string or base64.
export function bytesOf(payload, encoding) {
  if (encoding === 'base64') return Uint8Array.from(atob(payload), (c) => c.charCodeAt(0));
  return new TextEncoder().encode(payload);
}

// jsonOf is the value of a JSON text, undefined if it is none. Numbers that a browser would round keep it from being shown as JSON.
export function jsonOf(text) {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    const value = JSON.parse(text);
    return /(?<![\w".])-?\d{17,}(?![\w".])/.test(text) ? undefined : value;
  } catch {
    return undefined;
  }
}

// isJSON tells whether a text is one JSON value, however large its numbers are.
export function isJSON(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

// hex writes bytes as an editor of bytes shows them: offset, sixteen bytes, what of them is a character.
export function hex(bytes, most = 65536) {
  const lines = [];
  for (let at = 0; at < Math.min(bytes.length, most); at += 16) {
    const row = [...bytes.slice(at, at + 16)];
    const codes = row.map((b) => b.toString(16).padStart(2, '0'));
    codes.splice(8, 0, '');
    const plain = row.map((b) => (b >= 32 && b < 127 ? String.fromCharCode(b) : '·')).join('');
    lines.push(`${at.toString(16).padStart(8, '0')}  ${codes.join(' ').padEnd(49)}  ${plain}`);
  }
  return lines.join('\n');
}

// kinds are the ways in which a payload can be shown, the best first.
export function kindsOf(message) {
  if (message.payload === undefined || message.payload === null) return [];
  if (message.payload_encoding === 'base64') return ['hex', 'base64'];
  return jsonOf(message.payload) !== undefined && !message.truncated
    ? ['tree', 'pretty', 'raw', 'hex']
    : ['raw', 'hex'];
}

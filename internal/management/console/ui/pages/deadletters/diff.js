// What changed between two texts, line by line. Pure.

// diff returns {kind: same|gone|new, text} for each line, with the fewest changes. Texts of very many lines are compared only
// where they differ at both ends.
export function diff(before, after) {
  const a = before.split('\n');
  const b = after.split('\n');
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const same = (lines) => lines.map((text) => ({ kind: 'same', text }));
  return [
    ...same(a.slice(0, head)),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...same(tail ? a.slice(-tail) : []),
  ];
}

function middle(a, b) {
  const gone = (text) => ({ kind: 'gone', text });
  const fresh = (text) => ({ kind: 'new', text });
  if (a.length * b.length > 4e6) return [...a.map(gone), ...b.map(fresh)];
  const rows = Array.from({ length: a.length + 1 }, () => new Uint32Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--)
      rows[i][j] = a[i] === b[j] ? rows[i + 1][j + 1] + 1 : Math.max(rows[i + 1][j], rows[i][j + 1]);
  }
  const out = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      out.push({ kind: 'same', text: a[i] });
      i++;
      j++;
    } else if (rows[i + 1][j] >= rows[i][j + 1]) out.push(gone(a[i++]));
    else out.push(fresh(b[j++]));
  }
  return [...out, ...a.slice(i).map(gone), ...b.slice(j).map(fresh)];
}

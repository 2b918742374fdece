// Sorting, filtering and exporting of rows. Pure.
import { folded } from './find.js';

// order sorts a copy: numbers by size, texts as people sort them, what is missing last.
export function order(rows, value, reverse) {
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
  const sign = reverse ? -1 : 1;
  const empty = (v) => v === undefined || v === null || v === '';
  return rows
    .map((row) => [value(row), row])
    .sort(([a], [b]) => {
      if (empty(a) || empty(b)) return Number(empty(a)) - Number(empty(b));
      if (typeof a === 'number' && typeof b === 'number') return sign * (a - b);
      return sign * collator.compare(String(a), String(b));
    })
    .map(([, row]) => row);
}

// matches tells whether a text has another in it, whatever their case and width. A regular expression that is none matches nothing.
export function matches(text, wanted, regex) {
  const [all, part] = [folded(String(text)), folded(wanted)];
  if (!regex) return all.toLowerCase().includes(part.toLowerCase());
  try {
    return new RegExp(part, 'i').test(all);
  } catch {
    return false;
  }
}

export function isRegex(text) {
  try {
    return !!new RegExp(folded(text));
  } catch {
    return false;
  }
}

// csv writes rows of values. What a spreadsheet would take for a formula is made a text.
export function csv(titles, rows) {
  const cell = (v) => {
    let s = v === undefined || v === null ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v);
    if (typeof v === 'string' && /^[=+\-@\t\r]/.test(s)) s = "'" + s;
    return /[",\n\r]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
  };
  return [titles, ...rows].map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

// between lists the keys from one to another in the order of keys, both included.
export function between(keys, from, to) {
  const a = keys.indexOf(from);
  const b = keys.indexOf(to);
  if (a < 0 || b < 0) return b < 0 ? [] : [to];
  return keys.slice(Math.min(a, b), Math.max(a, b) + 1);
}

// view says which of count rows of one height lie in a window, with some around it.
export function view(count, rowHeight, top, height, around = 15) {
  const first = Math.max(0, Math.min(count, Math.floor(top / rowHeight) - around));
  const last = Math.min(count, Math.ceil((top + height) / rowHeight) + around);
  return { first, last, before: first * rowHeight, after: (count - last) * rowHeight };
}

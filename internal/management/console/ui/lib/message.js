// Messages with parameters: {name}, {n, number}, {n, plural, =0 {none} one {# message} other {# messages}} and
// {x, select, a {…} other {…}}. Pure.

const rules = new Map();
const numbers = new Map();

function cached(map, lang, make) {
  if (!map.has(lang)) map.set(lang, make(lang));
  return map.get(lang);
}

export const plural = (lang, n) => cached(rules, lang, (l) => new Intl.PluralRules(l)).select(n);
export const number = (lang, n) =>
  cached(numbers, lang, (l) => new Intl.NumberFormat(l, { maximumFractionDigits: 2 })).format(n);

// parse makes a list of texts and holes of a message. A stray brace is text.
export function parse(text) {
  const parts = [];
  let at = 0;
  let plain = '';
  while (at < text.length) {
    const c = text[at];
    if (c !== '{') {
      plain += c;
      at++;
      continue;
    }
    const end = closing(text, at);
    if (end < 0) throw new Error(`a brace is not closed in: ${text}`);
    if (plain) parts.push(plain);
    plain = '';
    parts.push(hole(text.slice(at + 1, end)));
    at = end + 1;
  }
  if (plain) parts.push(plain);
  return parts;
}

function closing(text, open) {
  let depth = 0;
  for (let i = open; i < text.length; i++) {
    if (text[i] === '{') depth++;
    if (text[i] === '}' && --depth === 0) return i;
  }
  return -1;
}

function hole(inside) {
  const m = /^\s*(\w+)\s*(?:,\s*(\w+)\s*(?:,([\s\S]*))?)?$/.exec(inside);
  if (!m) throw new Error(`no placeholder: {${inside}}`);
  const [, name, kind, rest] = m;
  if (!kind || kind === 'number') return { name, kind: kind || 'plain' };
  if (kind !== 'plural' && kind !== 'select') throw new Error(`unknown kind of placeholder: ${kind}`);
  const cases = {};
  let at = 0;
  while (at < rest.length) {
    const open = rest.indexOf('{', at);
    if (open < 0) break;
    const end = closing(rest, open);
    if (end < 0) throw new Error(`a case is not closed in: {${inside}}`);
    cases[rest.slice(at, open).trim()] = parse(rest.slice(open + 1, end));
    at = end + 1;
  }
  if (!cases.other) throw new Error(`the case "other" is missing in: {${inside}}`);
  return { name, kind, cases };
}

// upright shows what would turn the direction of a sentence as its code.
const upright = (text) =>
  text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (c) => `U+${c.codePointAt(0).toString(16).toUpperCase()}`);

// joined puts two parts of a message together. Chinese has a space where its script meets letters or digits, none within itself
// or beside its brackets, which are wide: which of the two it is depends on what fills a hole.
function joined(before, after, lang) {
  if (!lang.startsWith('zh')) return before + after;
  if (/[\p{Script=Han}）] $/u.test(before) && /^[\p{Script=Han}（]/u.test(after)) return before.slice(0, -1) + after;
  if (/[\p{Script=Han}）]$/u.test(before) && /^ [\p{Script=Han}（]/u.test(after)) return before + after.slice(1);
  const apart = /\p{Script=Han}\n[\dA-Za-z]|[\dA-Za-z]\n\p{Script=Han}/u.test(
    `${before.slice(-2)}\n${after.slice(0, 2)}`,
  );
  return before + (apart ? ' ' : '') + after;
}

// tight takes the space away that a template puts behind what ends with a full-width mark: that has its own.
export function tight(parts) {
  let before = '';
  return parts.map((part) => {
    if ((part ?? false) === false) return part;
    if (typeof part !== 'string') {
      before = '';
      return part;
    }
    const out = part.startsWith(' ') && /[，、。：；！？]$/.test(before) ? part.slice(1) : part;
    before = out || before;
    return out;
  });
}

// format fills the holes in.
export function format(parts, params, lang, count) {
  let out = '';
  for (const p of parts) out = joined(out, filled(p, params, lang, count), lang);
  return out;
}

function filled(p, params, lang, count) {
  if (typeof p === 'string') return count === undefined ? p : p.replaceAll('#', number(lang, count));
  const v = params?.[p.name];
  if (p.kind === 'plural') {
    const n = Number(v ?? 0);
    return format(p.cases['=' + n] || p.cases[plural(lang, n)] || p.cases.other, params, lang, n);
  }
  if (p.kind === 'select') return format(p.cases[v] || p.cases.other, params, lang, count);
  return p.kind === 'number' || typeof v === 'number' ? number(lang, Number(v ?? 0)) : upright(String(v ?? ''));
}

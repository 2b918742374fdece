// The filter language as a field shows it: its terms as chips, and what may come next. What a filter means the broker decides.
// Pure.

// split cuts a filter into its terms: {text, start, end, not, field, value}; field is '' for words.
export function split(text) {
  const terms = [];
  let at = 0;
  while (at < text.length) {
    if (/\s/.test(text[at])) {
      at++;
      continue;
    }
    const start = at;
    let quoted = false;
    for (; at < text.length && (quoted || !/\s/.test(text[at])); at++) {
      if (text[at] === '\\') at++;
      else if (text[at] === '"') quoted = !quoted;
    }
    at = Math.min(at, text.length);
    terms.push({ ...read(text.slice(start, at)), start, end: at });
  }
  return terms;
}

function read(text) {
  const not = /^[-－]./s.test(text);
  const rest = not ? text.slice(1) : text;
  const m = /^([A-Za-z][\w-]*(?:\.[^\s:：<>="＜＞＝]+)?)([:：=＝]|[<>＜＞][=＝]?)(.*)$/s.exec(rest);
  if (!m || (/[：=＝＜＞]/.test(m[2]) && !isField(m[1]))) return { text, not, field: '', value: rest };
  return { text, not, field: m[1], value: /[<>＜＞]/.test(m[2]) ? m[2].normalize('NFKC') + m[3] : m[3] };
}

// isField reports whether a name before an equals sign or a full-width sign is a field; other words with one are text.
function isField(given) {
  const name = given.toLowerCase().replace(/_/g, '-');
  return /^(headers?|body)\./.test(name) || name === 'dlq' || fields.some(([f]) => f === name);
}

// without takes a term away.
export const without = (text, index) =>
  split(text)
    .filter((_, i) => i !== index)
    .map((x) => x.text)
    .join(' ');

// quote writes a value so that it is meant exactly.
export function quote(value) {
  if (value !== '' && /^[\p{L}\p{N}_.@/+-]+$/u.test(value) && value[0] !== '-') return value;
  return '"' + value.replace(/["\\]/g, '\\$&').replace(/\n/g, '\\n').replace(/\r/g, '\\r').replace(/\t/g, '\\t') + '"';
}

// and adds a term to a filter, unless it is there.
export function and(text, term) {
  if (!term) return text.trim();
  return split(text).some((x) => x.text === term) ? text.trim() : `${text.trim()} ${term}`.trim();
}

const pattern = (texts) =>
  texts
    .sort((a, b) => b.length - a.length)
    .map((x) => x.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
    .join('|');

// inTerms writes what was typed as the filter language has it: names of fields and values that are called as the console calls them, of
// however many words, become those of the language. What is quoted stays. called are the texts of each: {fields: [[text, field]], values:
// [[text, field, value]]}.
export function inTerms(typed, called) {
  const name = new Map(called.fields.map(([text, field]) => [text.toLowerCase(), field]));
  const ofFields = new RegExp(`(^|\\s)([-－]?)(${pattern([...name.keys()])})\\s*[:：]\\s*(?=\\S)`, 'giu');
  const words = new Map(called.values.map(([text, field, value]) => [`${field} ${text.toLowerCase()}`, value]));
  const texts = pattern(called.values.map(([text]) => text));
  const ofValues = new RegExp(
    `(^|\\s)([-－]?)([\\w-]+)[:：]\\s*((?:${texts}|[\\w*?]+)(?:[|｜](?:${texts}|[\\w*?]+))*)(?=\\s|$)`,
    'giu',
  );
  return typed
    .split(/("(?:\\.|[^"\\])*"?)/s)
    .map((part, i) => {
      if (i % 2) return part;
      return part
        .replace(ofFields, (_, before, not, text) => `${before}${not}${name.get(text.toLowerCase())}:`)
        .replace(ofValues, (all, before, not, field, given) => {
          const parts = given.split(/[|｜]/).map((x) => words.get(`${field.toLowerCase()} ${x.toLowerCase()}`) ?? x);
          return parts.join('|') === given ? all : `${before}${not}${field}:${parts.join('|')}`;
        });
    })
    .join('');
}

// fields are what may be asked for, each with the values that there are, or an example of one.
/** @type {[string, string[]][]} */
export const fields = [
  ['reason', ['rejected', 'expired', 'maxlen', 'delivery_limit', 'republished']],
  ['queue', []],
  ['source', []],
  ['exchange', []],
  ['key', ['order.#']],
  ['schedule-key', []],
  ['age', ['>1h', '<10m', '1h..1d']],
  ['time', ['today', 'yesterday']],
  ['count', ['>3']],
  ['redrives', ['0', '>0']],
  ['came-back', ['>0']],
  ['state', ['ready', 'unacked', 'waiting', 'held', 'lost', 'scheduled']],
  ['cause', ['no_exchange', 'no_route', 'cycle', 'refused', 'hops', 'delivery_limit', 'discarded']],
  ['target', []],
  ['lost-at', ['today', 'yesterday']],
  ['size', ['>10kB']],
  ['id', []],
  ['message-id', []],
  ['correlation-id', []],
  ['type', []],
  ['exception', ['*Timeout*']],
  ['fingerprint', []],
  ['header.', []],
  ['headers', []],
  ['body', []],
  ['body.$.', []],
  ['first-reason', ['rejected', 'expired', 'maxlen', 'delivery_limit']],
  ['last-queue', []],
  ['routing-key', []],
  ['user', []],
  ['app', []],
  ['content-type', []],
  ['reply-to', []],
];

// suggest lists what the term at the cursor may become: {term, gloss, start, end}. known are names by field: {queue: [...]}. gloss is
// what a field, or a value of it, is called in the language of the page, or '': these words find it, too. called are
// what fields are called besides: [[text, field]].
export function suggest(text, cursor, known = {}, gloss = (_field, _value) => '', called = []) {
  const here = split(text).find((x) => x.start <= cursor && cursor <= x.end) || {
    text: '',
    start: cursor,
    end: cursor,
    not: false,
  };
  const typed = text.slice(here.start, cursor);
  const not = /^[-－]/.test(typed) ? '-' : '';
  const plain = typed.slice(not.length).toLowerCase();
  const at = plain.search(/[:：]/);
  const make = (term, said) => ({ term: not + term, gloss: said, start: here.start, end: here.end });
  const has = (said, words) => words !== '' && said.toLowerCase().includes(words);
  if (at < 0) {
    const all = fields.map(([name]) => ({ name, said: gloss(name) }));
    const named = all.filter((f) => f.name.startsWith(plain));
    return [...named, ...all.filter((f) => !named.includes(f) && has(f.said, plain))]
      .slice(0, 10)
      .map((f) => make(f.name.endsWith('.') ? f.name : f.name + ':', f.said));
  }
  const given = plain.slice(0, at);
  const name = fields.some(([f]) => f === given)
    ? given
    : (called.find(([x]) => x.toLowerCase() === given)?.[1] ?? given);
  const value = plain.slice(at + 1).replace(/^"/, '');
  const names = known[name];
  const of = names || fields.find(([f]) => f === name)?.[1] || [];
  return of
    .map((v) => ({ v, said: names ? '' : gloss(name, v) }))
    .filter(({ v, said }) => v.toLowerCase() !== value && (v.toLowerCase().includes(value) || has(said, value)))
    .slice(0, 10)
    .map(({ v, said }) => make(`${name}:${names ? quote(v) : v}`, said));
}

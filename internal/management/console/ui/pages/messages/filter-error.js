// What is wrong with a filter, as the broker says it, taken apart so that it can be said in other languages. Pure.

// Each kind with the words that the broker has for it; the groups in it are the parameters a, b. Those with a dot are said as the
// fields of forms say them.
/** @type {[string, RegExp][]} */
const kinds = [
  ['minus', /^nothing follows the minus/],
  ['value', /^the value is missing/],
  ['backslash', /^nothing follows the backslash/],
  ['hex', /^two hexadecimal digits/],
  ['quotes', /^the quotes are not closed/],
  ['header', /^the header name is missing/],
  ['joined', /^terms are combined with AND/],
  ['no_order', /^(\S+) is text and cannot be compared/],
  ['quoted_number', /^(\S+) is compared with numbers/],
  ['direction', /^older or younger\? Write age:>(.+) or age:</],
  ['word', /^(\S+) has no value "(.*)"$/s],
  ['field', /^there is no field "(.*)"; quote text/s],
  ['meant', /^write (.+); to search for it as text, quote it$/s],
  ['duration.no_unit', /^'(.+)' has no unit: write/s],
  ['duration.wrong', /^'(.*)' is not a duration: write/s],
  ['duration.long', /^'(.+)' is longer than a hundred years$/s],
  ['duration.part', /^'(.+)' is not a whole number of milliseconds$/s],
  ['number', /^a number is expected/],
  ['number_follows', /^a number must follow/],
  ['size', /^a size is expected/],
  ['time', /^a time is expected/],
  ['no_end', /^a range needs at least one end$/],
  ['backwards', /^the range ends before it begins$/],
  ['path', /^a path is expected/],
  ['phrase', /^a phrase of (\d+) words, at most (\d+) are allowed$/],
  ['steps', /^the path has more than (\d+) steps$/],
  ['utf8', /^not UTF-8/],
  ['bytes', /^(\d+) bytes.*at most (\d+) are allowed/],
  ['too_many', /^more than (\d+) /],
];

/** @typedef {{kind: string, term: string, position: number, known: string[], a?: string, b?: string, text?: string, s?: string, c?: string, ms?: string}} Fault */

// read takes a refusal apart: {kind, a, b, term, position, known}; kind is other, with the words in text, for what it does not know,
// and null is what it is no refusal of a filter.
/** @returns {Fault | null} */
export function read(reason) {
  if (!reason?.startsWith('filter: ')) return null;
  const at = /^filter: (.*?) at character (\d+): (.*)$/s.exec(reason);
  const rest = at ? at[3] : reason.slice('filter: '.length);
  const place = { term: at?.[1] ?? '', position: at ? Number(at[2]) : 0 };
  const listed = /^(.*); known: ([^"]*)$/s.exec(rest);
  const text = listed ? listed[1] : rest;
  const known = listed ? listed[2].split(', ') : [];
  for (const [kind, words] of kinds) {
    const m = words.exec(text);
    if (m) return { kind, a: m[1] ?? '', b: m[2] ?? '', ...durationOf(kind, m[1]), ...place, known };
  }
  return { kind: 'other', text, ...place, known };
}

// durationOf is the parameters of what is said of a duration.
const durationOf = (kind, text) =>
  kind.startsWith('duration.') && { text, s: `${text}s`, ms: `${text}ms`, a: '90s', b: '15m', c: '1h30m' };

// What is wrong with a filter, as the broker says it, taken apart so that it can be said in other languages. Pure.

// Each kind with the words that the broker has for it; the groups in it are the parameters a, b, c.
const kinds = [
  ['minus', /^nothing follows the minus/], ['value', /^a value is missing/], ['backslash', /^nothing follows the backslash/],
  ['hex', /^two hexadecimal digits/], ['quotes', /^the quotes are not closed/], ['header', /^the header's name is missing/],
  ['joined', /^terms are joined by and/], ['no_order', /^(\S+) is text and has no order/], ['quoted_number', /^(\S+) is compared with numbers/],
  ['direction', /^is it older or younger\? Say age:>(.+) or age:</], ['word', /^(\S+) is never "(.*)"$/s], ['field', /^there is no field "(.*)"; a text/s],
  ['bytes', /^(\d+) bytes.*at most (\d+) are allowed/], ['too_many', /^more than (\d+) /],
];

// read takes a refusal apart: {kind, a, b, term, position, known}; kind is other, with the words in text, for what it does not know,
// and null is what it is no refusal of a filter.
export function read(reason) {
  if (!reason?.startsWith('filter: ')) return null;
  const at = /^filter: (.*?) at character (\d+): (.*)$/s.exec(reason);
  const rest = at ? at[3] : reason.slice('filter: '.length);
  const place = { term: at?.[1] ?? '', position: at ? Number(at[2]) : 0 };
  const listed = /^(.*); there is ([^"]*)$/s.exec(rest);
  const text = listed ? listed[1] : rest;
  const known = listed ? listed[2].split(', ') : [];
  for (const [kind, words] of kinds) {
    const m = words.exec(text);
    if (m) return { kind, a: m[1] ?? '', b: m[2] ?? '', ...place, known };
  }
  return { kind: 'other', text, ...place, known };
}

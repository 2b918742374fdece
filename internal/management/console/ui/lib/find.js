// How what a user types into the palette finds rows: by their titles and by other words for the same. Pure.

const han = /\p{Script=Han}/u;

// folded is a text with full-width characters as plain ones, as an input method may write them.
export const folded = (text) => text.normalize('NFKC');

// wordsOf are the words of a text, with full-width characters as plain ones; Chinese, which has no spaces, is apart from what is not.
export const wordsOf = (text) =>
  folded(text)
    .toLowerCase()
    .split(/\s+|(?<=\p{Script=Han})(?=[\w.])|(?<=[\w.])(?=\p{Script=Han})/u)
    .filter(Boolean);

// rank is how well words find a row: 0 by its title, 1 by other words for it, too, -1 not at all.
export function rank(words, title, also = '') {
  const [name, others] = [title, also].map((text) => folded(text).toLowerCase()); // … is ... in words
  if (words.every((w) => name.includes(w))) return 0;
  return words.every((w) => name.includes(w) || others.includes(w)) ? 1 : -1;
}

// ranked are the rows {title, also, last} that words find, the best first; last is said of one that comes after the others.
export const ranked = (words, rows) =>
  rows
    .map((row) => ({ row, at: rank(words, row.title, row.also) }))
    .filter((x) => x.at >= 0)
    .sort((a, b) => Number(!!a.row.last) - Number(!!b.row.last) || a.at - b.at)
    .map((x) => x.row);

// named are the words of a name that an action is asked for, 'purge queue orders' for the verb purge: [orders]; null if no word is one
// of its verbs. noise are words that name nothing.
export function named(words, verbs, noise) {
  let found = false;
  const name = [];
  for (const w of words) {
    if (han.test(w)) {
      let left = w;
      for (const v of [...verbs, ...noise].filter((v) => han.test(v)).sort((a, b) => b.length - a.length)) {
        if (!left.includes(v)) continue;
        left = left.replace(v, '');
        found ||= verbs.includes(v);
      }
      if (left) name.push(left);
    } else if (verbs.some((v) => v === w || (w.length > 2 && v.startsWith(w)))) found = true;
    else if (!noise.includes(w)) name.push(w);
  }
  return found ? name : null;
}

// The console's languages: t('key', {params}) in the language that was chosen, and numbers, sizes and times as it
// writes them. Components that call t are rendered again when the language changes.
import { signal } from './html.js';
import { parse, format, number, tight } from './message.js';
import * as units from './units.js';
import { dictionary, language, languages, words as first } from './ahead.js';
import { pref } from './store.js';

export { languages };

const chosen = pref('lang', '');
const words = signal({ lang: 'en', of: new Map() });

export const lang = () => words.value.lang;

// chooseLanguage loads a language and remembers it.
export async function chooseLanguage(name) {
  speak(name, await dictionary(name));
  chosen.value = name;
}

// startLanguage takes the words that were asked for ahead.
export async function startLanguage() {
  speak(language, await first.catch(() => dictionary(language)));
}

function speak(name, all) {
  words.value = { lang: name, of: new Map(Object.entries(all)), parsed: new Map() };
  document.documentElement.lang = name === 'en-XA' ? 'en' : name;
}

// t is the message of a key; the key itself where there is none, which a test does not let happen.
export function t(key, params) {
  const w = words.value;
  const text = w.of.get(key);
  if (text === undefined) return key;
  let parts = w.parsed.get(key);
  if (!parts) {
    parts = parse(text);
    w.parsed.set(key, parts);
  }
  const out = format(parts, params, w.lang === 'en-XA' ? 'en' : w.lang);
  return w.lang === 'en-XA' ? `⟦${out}⟧` : out;
}

// sentences are several in a row; those that are '' or so are left out.
export const sentences = (...all) =>
  tight(all.filter(Boolean).flatMap((text, i) => (i ? [' ', text] : [text]))).join('');

// has tells whether there is a message of that key: for words that come from the broker.
export const has = (key) => words.value.of.has(key);

// word is a word that the broker uses, translated if there is a message for it, else as it is.
export const word = (group, name) => (has(`${group}.${name}`) ? t(`${group}.${name}`) : name);

const formats = new Map();
function intl(kind, options) {
  const l = lang() === 'en-XA' ? 'en' : lang();
  const key = l + kind + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl[kind](l, options));
  return formats.get(key);
}

export const num = (n) => (n === null || n === undefined ? '–' : number(lang() === 'en-XA' ? 'en' : lang(), n));

// short is a number in a few characters: 12.3K.
export const short = (n) => intl('NumberFormat', { notation: 'compact', maximumFractionDigits: 1 }).format(n);
export const percent = (share) => units.percent(share, t);
export const rate = (n) => units.rate(n, t);
export const size = (bytes) => units.size(bytes, t);
export const span = (ms) => units.span(ms, t);
export const left = (ms) => units.left(ms, t);
export const exact = (ms) => units.exact(ms, t);
export const per = (ms) => units.per(ms, t);
export const ago = (at, now) => units.ago(new Date(at).getTime(), now, t);

export const dateTime = (at) =>
  intl('DateTimeFormat', { dateStyle: 'medium', timeStyle: 'medium' }).format(new Date(at));
export const utc = (at) => new Date(at).toISOString().replace('T', ' ').replace('Z', ' UTC');
export const day = (at) => intl('DateTimeFormat', { dateStyle: 'full' }).format(new Date(at));
export const clock = (at) => intl('DateTimeFormat', { timeStyle: 'medium' }).format(new Date(at));
export const hourMinute = (at) => intl('DateTimeFormat', { timeStyle: 'short' }).format(new Date(at));
export const month = (at) => intl('DateTimeFormat', { year: 'numeric', month: 'long' }).format(new Date(at));
export const weekday = (at) => intl('DateTimeFormat', { weekday: 'short' }).format(new Date(at));

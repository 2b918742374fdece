// What the first page needs of the broker, asked for before the other modules are there: the words, and who is logged in. It imports
// next to nothing, and is a script of the page by itself, so that it runs as soon as the page is read.
import { assets, prefix } from './place.js';

// languages that there are, each by its own name. en-XA is for tests: English in disguise shows what is not translated.
export const languages = { en: 'English', 'zh-CN': '简体中文' };

function known(name) {
  if (!name) return '';
  if (languages[name] || name === 'en-XA') return name;
  return Object.keys(languages).find((l) => l.split('-')[0] === name.split('-')[0]) || '';
}

function chosen() {
  try {
    return JSON.parse(localStorage.getItem('bartleby.lang') || '""');
  } catch {
    return ''; // no storage, or nonsense in it
  }
}

// language is what the address, an earlier choice, or the browser asks for.
export const language =
  known(new URLSearchParams(location.search).get('lang') || chosen()) ||
  navigator.languages.map(known).find(Boolean) ||
  'en';

// dictionary loads the words of a language.
export async function dictionary(name) {
  const answer = await fetch(`${assets}/i18n/${name === 'en-XA' ? 'en' : name}.json`);
  if (!answer.ok) throw new Error(`no dictionary for ${name}`);
  return answer.json();
}

// words are those of the language, session is the answer of the API.
export const words = dictionary(language);
export const session = fetch(`${prefix}/api/x/session`, { headers: { Accept: 'application/json' } }).then((answer) =>
  answer.ok ? answer.json() : Promise.reject(answer.status),
);
// Whoever waits for them later is told of a failure then.
words.catch(() => {});
session.catch(() => {});

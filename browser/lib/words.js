// What the console says, out of its own dictionaries: a flow then names a button by what it is for, in each language.
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ui = join(dirname(fileURLToPath(import.meta.url)), '../../internal/management/console/ui');
// As text, so that it is a module for every version of node, whatever package it lies in.
const { parse, format } = await import(
  `data:text/javascript,${encodeURIComponent(readFileSync(join(ui, 'lib/message.js'), 'utf8'))}`
);

/** words(language) gives say(key, params), the text that the console shows in that language. */
export function words(language) {
  const directory = join(ui, 'i18n', language);
  const all = Object.assign(
    {},
    ...readdirSync(directory).map((f) => JSON.parse(readFileSync(join(directory, f), 'utf8'))),
  );
  return (key, params) => {
    if (!(key in all)) throw new Error(`the console has no word ${key} in ${language}`);
    return format(parse(all[key]), params, language);
  };
}

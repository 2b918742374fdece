// The dictionaries: both languages have the same keys, every key is used, and what is used is there.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, format } from '../lib/message.js';

const root = fileURLToPath(new URL('..', import.meta.url));

function dictionary(lang) {
  const all = {};
  for (const name of readdirSync(`${root}/i18n/${lang}`)) {
    for (const [key, text] of Object.entries(JSON.parse(readFileSync(`${root}/i18n/${lang}/${name}`, 'utf8')))) {
      assert.ok(!(key in all), `${lang}: ${key} is in two dictionaries`);
      all[key] = text;
    }
  }
  return all;
}

function sources(dir = root) {
  return readdirSync(dir).flatMap((name) => {
    if (['vendor', 'test', 'i18n'].includes(name)) return [];
    const at = `${dir}/${name}`;
    if (statSync(at).isDirectory()) return sources(at);
    return name.endsWith('.js') ? [readFileSync(at, 'utf8')] : [];
  });
}

const en = dictionary('en');
const zh = dictionary('zh-CN');

test('both languages have the same keys', () => {
  assert.deepEqual(
    Object.keys(en).filter((k) => !(k in zh)),
    [],
    'missing in zh-CN',
  );
  assert.deepEqual(
    Object.keys(zh).filter((k) => !(k in en)),
    [],
    'missing in en',
  );
});

test('no deed has the word that leaves a dialog', () => {
  for (const all of [en, zh]) {
    assert.deepEqual(
      Object.keys(all).filter(
        (k) => k !== 'frame.cancel' && !/^(jobs?|did)\./.test(k) && all[k] === all['frame.cancel'],
      ),
      [],
    );
  }
});

// holes are the names of the parameters that a message asks for.
function holes(parts, found = new Set()) {
  for (const p of parts) {
    if (typeof p === 'string') continue;
    found.add(p.name);
    Object.values(p.cases || {}).forEach((c) => holes(c, found));
  }
  return found;
}

test('messages can be read, and both languages ask for the same parameters', () => {
  for (const key of Object.keys(en)) {
    const a = holes(parse(en[key]));
    const b = holes(parse(zh[key] ?? ''));
    // A word that only counts may be left out where the language needs no number.
    assert.deepEqual(
      [...b].filter((x) => !a.has(x)),
      [],
      `${key}: zh-CN asks for more`,
    );
    const lost = [...a].filter((x) => !b.has(x));
    assert.ok(
      lost.every((x) => /plural/.test(en[key])),
      `${key}: zh-CN leaves out ${lost}`,
    );
    assert.ok(format(parse(en[key]), {}, 'en').length > 0, key);
    if (zh[key] !== undefined) assert.ok(format(parse(zh[key]), {}, 'zh-CN').length > 0, key);
  }
});

test('every key is used, and what is used is there', () => {
  const text = sources().join('\n');
  const literal = new Set([...text.matchAll(/['"`]([a-z][\w-]*\.[\w.-]+)['"`]/g)].map((m) => m[1]));
  // t(`reason.${x}`) and word('reason', x) use all keys of a group.
  const groups = new Set([...text.matchAll(/\bt\(`([a-z][\w.-]*[._])\$\{/g)].map((m) => m[1]));
  for (const m of text.matchAll(/\b(?:word|has|say)\(\s*['"]([a-z][\w-]*)['"]/g)) groups.add(m[1] + '.');
  const unused = Object.keys(en).filter((k) => !literal.has(k) && ![...groups].some((g) => k.startsWith(g)));
  assert.deepEqual(unused, [], 'keys that nothing uses');
  const asked = [...text.matchAll(/\bt\(\s*['"]([\w-]+\.[^'"]+)['"]/g)].map((m) => m[1]);
  assert.ok(asked.length > 50, 'the pattern finds nothing');
  assert.deepEqual(
    asked.filter((k) => !(k in en)),
    [],
    'keys that are not there',
  );
});

test('no text stands in a module', () => {
  // A word between tags that is no expression: names that no language translates are allowed.
  const names = /^(Bartleby|Ctrl K|AMQP|HTTP|x-[\w-]+|[\W\d_]*)$/;
  for (const text of sources()) {
    for (const [, inside] of text.matchAll(
      /<(?:p|h1|h2|h3|button|span|label|th|td|dt|dd|li|small|legend|summary|option|b|figcaption|a|em|strong)(?:\s[^<>]*)?>([^<>${}`]*[A-Za-z]{2,}[^<>${}`]*)</g,
    )) {
      assert.ok(names.test(inside.trim()), `text in a module: ${inside.trim()}`);
    }
  }
});

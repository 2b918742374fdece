// The dictionaries: both languages have the same keys, every key is used, and what is used is there.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parse, format } from '../lib/message.js';
import * as units from '../lib/units.js';
import { fields } from '../pages/messages/filter.js';

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

// The units as each language writes them, over all ways that numbers get one.
const said = (lang) => (key, params) => format(parse(dictionary(lang)[key]), params, lang);
const written = (lang) => {
  const say = said(lang);
  return [
    units.span(416.4, say),
    units.span(1.254, say),
    units.span(41_000, say),
    units.span(111_000, say),
    units.span(26 * 36e5 + 5000, say),
    units.span(-5000, say),
    units.ago(0, 5000, say),
    units.ago(0, 400, say),
    units.ago(7200_000, 0, say),
    units.ago(0, 65 * 864e5, say),
    units.percent(0.2, say),
    units.percent(0.7491, say),
    units.rate(0.25, say),
    units.size(1234, say),
    units.size(999, say),
    units.per(6e4, say),
    units.per(3e5, say),
    units.exact(5_405_000, say),
    units.exact(86_400_000, say),
    units.exact(0, say),
  ].map((x) => x.replaceAll('\u00a0', ' '));
};

test('what is due is not less than it takes', () => {
  const say = said('en');
  const plain = (text) => text.replaceAll('\u00a0', ' ');
  const s = 1000;
  const rows = [290, 270, 269, 3599, 3601, 59.6, 45, 0.5, 86_000, 30.4 * 86_400].map((n) =>
    plain(units.ago(n * s, 0, say)),
  );
  assert.deepEqual(rows, [
    'in 5 min',
    'in 5 min',
    'in 4 min',
    'in 1 h',
    'in 1 h',
    'in 1 min',
    'in 45 s',
    'just now',
    'in 1 d',
    'in 30 d',
  ]);
  assert.equal(plain(units.ago(0, 299 * s, say)), '4 min ago');
  const left = [900_000, 899_001, 1, 0, -3000].map((ms) => plain(units.left(ms, say)));
  assert.deepEqual(left, ['15 min', '15 min', '1 s', '0 s', '0 s']);
});

test('units are written one way in each language', () => {
  const numbers = [
    '416',
    '1.25',
    '41',
    '1',
    '1',
    '−5',
    '5',
    '',
    '2',
    '2',
    '20',
    '74.9',
    '0.3',
    '1.2',
    '999',
    '',
    '5',
    '1',
    '1',
    '0',
  ];
  const [english, chinese] = [written('en'), written('zh-CN')];
  assert.deepEqual(
    english,
    [
      '416 ms',
      '1.25 ms',
      '41 s',
      '1 min 51 s',
      '1 d 2 h',
      '−5 s',
      '5 s ago',
      'just now',
      'in 2 h',
      '2 months ago',
    ].concat([
      '20 %',
      '74.9 %',
      '0.3/s',
      '1.2 kB',
      '999 B',
      'minute',
      '5 min',
      '1 hour 30 minutes 5 seconds',
      '1 day',
      '0 ms',
    ]),
  );
  assert.deepEqual(
    chinese,
    [
      '416 毫秒',
      '1.25 毫秒',
      '41 秒',
      '1 分钟 51 秒',
      '1 天 2 小时',
      '−5 秒',
      '5 秒前',
      '刚刚',
      '2 小时后',
      '2 个月前',
    ].concat(['20%', '74.9%', '0.3/秒', '1.2 kB', '999 B', '分钟', '5 分钟', '1 小时 30 分钟 5 秒', '1 天', '0 毫秒']),
  );
  const unitless = (x) => x.match(/−?[\d.]+/)?.[0] ?? '';
  assert.deepEqual([english.map(unitless), chinese.map(unitless)], [numbers, numbers]);
  // Nor do texts write them another way.
  const glued = /[\d}](?:ms|s|min|h|d|kB|MB|GB|%)(?![\w-])/;
  assert.deepEqual(
    Object.entries(en).filter(([, text]) => glued.test(text.replace(/size:>1kB|age:>1h|\{size\}\/s/g, ''))),
    [],
    'in English there is a space between a number and its unit',
  );
  const loose = /[\d}] %|[\d}](?:毫秒|秒|分钟|小时|天|个|条)/;
  assert.deepEqual(
    Object.entries(zh).filter(
      ([k, text]) => !/^unit\./.test(k) && loose.test(text.replace(/\{(?:time|since|range|step)\}/g, '')),
    ),
    [],
    'in Chinese there is one, but none before %',
  );
  for (const text of sources()) assert.doesNotMatch(text, /\$\{[^}]*\} %/, 'a module writes % itself');
});

test('in Chinese, too, each thing has one word', () => {
  const gone = { 更改: '修改', 最旧: '最早', 排他: '独占', 信道: '通道', 还没有: '暂无', 死信目标: '死信去向' };
  for (const [word, now] of Object.entries(gone)) {
    assert.deepEqual(
      Object.entries(zh).filter(([k, text]) => !/^(verbs|also)\./.test(k) && text.includes(word)),
      [],
      `${word} is ${now}`,
    );
  }
});

test('Chinese texts have Chinese marks, without a space beside them', () => {
  const han = String.raw`\p{Script=Han}`;
  const ascii = new RegExp(`[${han}”）}][,:;!?]|[,:;!?] ?${han}|${han} ?[()]|[()] ?${han}|[,:;]$`, 'u');
  const spaced = /[，、。：；！？（）] | [，、。：；！？（）]/u;
  const plain = (text) => text.replace(/\{(\w+), (?:number|plural|select)/g, '{$1').replace(/header\.\S+:/g, '');
  assert.deepEqual(
    Object.entries(zh).filter(
      ([k, text]) => !/^(verbs|also)\./.test(k) && (ascii.test(plain(text)) || spaced.test(text)),
    ),
    [],
  );
  // Nor does a module write a mark behind a text: frame.pair, frame.comma and frame.clause are for that.
  const marked = /\bt\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\}(?:<\/\w+>)?[,:;.!?](?=[\s<`])/g;
  for (const text of sources()) assert.deepEqual(text.match(marked) ?? [], []);
});

test('in Chinese what a person discards has another word than what is lost, and a death is no dead letter', () => {
  assert.deepEqual(
    Object.keys(zh).filter((k) => zh[k].includes('丢弃') && !/discard/i.test(en[k])),
    [],
    '丢弃 is discard only',
  );
  // These count all that died, also where no dead-letter exchange was set.
  const counts = Object.keys(zh).filter((k) =>
    /^(overview\.(by_reason|card_died|dying|none_died|sources.*)|letters\.(card_died|counted)|queue\.died_here)$/.test(
      k,
    ),
  );
  assert.equal(counts.length, 9);
  for (const k of counts) {
    assert.match(zh[k], /死亡/, k);
    assert.doesNotMatch(zh[k], /死信/, k);
  }
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
    const some = Object.fromEntries([...a].map((name) => [name, '1']));
    assert.ok(format(parse(en[key]), some, 'en').length > 0, key);
    if (zh[key] !== undefined) assert.ok(format(parse(zh[key]), some, 'zh-CN').length > 0, key);
  }
});

test('every key is used, and what is used is there', () => {
  const text = sources().join('\n');
  const literal = new Set([...text.matchAll(/['"`]([a-z][\w-]*\.[\w.-]+)['"`]/g)].map((m) => m[1]));
  // t(`reason.${x}`) and word('reason', x) use all keys of a group.
  const groups = new Set(
    [...text.matchAll(/(?:\bkey: |\b(?:t|say|written)\((?:say, )?)`([a-z][\w.-]*[._])\$\{/g)].map((m) => m[1]),
  );
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

test('every field of filters is offered, and called something', () => {
  const go = readFileSync(`${root}/../../../filter/field.go`, 'utf8');
  const known = [...go.matchAll(/Name: "([a-z][^"]*)"/g)].map((m) => m[1].replace(/(NAME|PATH)$/, ''));
  assert.ok(known.length > 30, 'the pattern finds nothing');
  assert.deepEqual(fields.map(([name]) => name).sort(), known.sort());
  for (const name of known) for (const all of [en, zh]) assert.ok(all[`field.${name}`], name);
});

test('a field that is written as it is called in Chinese is refused with its name', () => {
  const go = readFileSync(`${root}/../../../filter/mistake.go`, 'utf8');
  const names = new Map([...go.matchAll(/"(\p{Script=Han}+(?:ID)?)": "([\w-]+)"/gu)].map((m) => [m[1], m[2]]));
  for (const [name] of fields.filter(([f]) => !f.endsWith('.'))) {
    const called = zh[`field.${name}`].replace(/（.*）|\s/g, '');
    assert.equal(names.get(called), name, called);
  }
});

test('a filter has the words of the console for the values of its fields', () => {
  const go = readFileSync(`${root}/../../../filter/parse.go`, 'utf8');
  const meant = new Map(
    [...go.matchAll(/"([^"]+)":\s+("[\w]+"|Republished)/g)].map((m) => [m[1], m[2].replaceAll('"', '')]),
  );
  for (const [name, values] of fields.filter(([f]) => ['reason', 'state', 'cause'].includes(f)))
    for (const all of [en, zh])
      for (const value of values) {
        const called = all[`${name}.${value}`].toLowerCase().replaceAll('-', '_');
        if (called !== value) assert.equal(meant.get(called)?.toLowerCase(), value, called);
      }
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

// Settings as the broker describes them. TestConsoleScripts writes them to the file BARTLEBY_SETTINGS: {settings, cases, faults …}.
// A case is an argument, a policy, and which of them is effective.
import test from 'node:test';
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fieldsOf, know, setting } from '../lib/known.js';
import {
  argumentsOf,
  badgesOf,
  codes,
  effective,
  filters,
  inequivalent,
  groupNames,
  groupOf,
  silent,
} from '../pages/broker/settings.js';
import { durationText, plainSteps, readDuration, readSteps } from '../lib/duration.js';
import { markOf, nextMark } from '../pages/broker/mark.js';
import { read } from '../pages/messages/filter-error.js';

const file = process.env.BARTLEBY_SETTINGS;
const told = file ? JSON.parse(readFileSync(file, 'utf8')) : { settings: [], cases: [], durations: [], faults: [] };
know(told.settings);
const check = (name, run) => test(name, { skip: !file && 'run by go test ./internal/management/console' }, run);

const root = fileURLToPath(new URL('..', import.meta.url));
const words = (lang) =>
  Object.assign(
    {},
    ...readdirSync(`${root}/i18n/${lang}`).map((name) =>
      JSON.parse(readFileSync(`${root}/i18n/${lang}/${name}`, 'utf8')),
    ),
  );

const queue = (more) => ({
  name: 'q',
  vhost: '/',
  type: 'classic',
  durable: true,
  auto_delete: false,
  arguments: {},
  effective_policy_definition: {},
  consumers: 0,
  ...more,
});

check('each setting that has an effect has a label in both languages, and so has each choice', () => {
  for (const lang of ['en', 'zh-CN']) {
    const known = words(lang);
    const missing = told.settings
      .filter((s) => !s.inert)
      .flatMap((s) => [`setting.${s.name}`, ...s.choices.map((c) => `choice.${s.name}.${c}`)])
      .filter((key) => !(key in known));
    assert.deepEqual(missing, [], `labels that ${lang} lacks`);
  }
});

check('a form has all settings of retries in one place, and no place is empty', () => {
  const of = (group) => fieldsOf('policy').flatMap((s) => (groupOf(s.name) === group ? [s.name] : []));
  assert.deepEqual(of('retries').sort(), [
    'delayed-retry-attempts',
    'delayed-retry-backoff',
    'delayed-retry-jitter',
    'delayed-retry-max',
    'delayed-retry-min',
    'delayed-retry-steps',
    'delayed-retry-type',
    'delivery-count-mode',
    'delivery-limit',
  ]);
  for (const group of groupNames) assert.notDeepEqual(of(group), [], group);
});

check('no label and no badge is of a setting that there is not', () => {
  const own = ['empty', 'durable', 'auto-delete', 'exclusive', 'arguments']; // of the queue itself
  const labelled = Object.keys(words('en')).flatMap((key) => /^(?:setting|choice)\.([\w-]+)/.exec(key)?.[1] ?? []);
  for (const name of [...codes.map(([, n]) => n), ...silent, ...labelled.filter((n) => !own.includes(n))])
    assert.ok(setting(name), `there is no setting ${name}`);
});

check('forms have a field for each setting that has an effect, and none for the others', () => {
  const names = (by) => fieldsOf(by).map((s) => s.name);
  for (const s of told.settings)
    for (const by of s.set_by) assert.equal(names(by).includes(s.name), !s.inert, `${s.name}, set by ${by}`);
  assert.ok(names('policy').includes('delivery-count-mode') && !names('operator policy').includes('cycle'));
  assert.ok(!names('argument').includes('alternate-exchange'));
});

check('of an argument and a policy, the console takes the one that the broker takes', () => {
  assert.ok(told.cases.length > 100, 'the broker has few cases');
  for (const { name, argument, policy, operator, from } of told.cases) {
    const of = {
      arguments: { [setting(name).argument]: argument },
      effective_policy_definition: { [name]: policy },
      policy: operator ? null : 'p',
      operator_policy: operator ? 'o' : null,
    };
    assert.equal(effective(queue(of), name).from, from, JSON.stringify(of));
  }
});

check('a page whose modules need the settings is loaded with them', () => {
  const closure = (path, found = new Set()) => {
    if (found.has(path) || !existsSync(path)) return found;
    found.add(path);
    for (const [, to] of readFileSync(path, 'utf8').matchAll(/\bfrom '(\.[^']+)'/g))
      closure(normalize(join(dirname(path), to)), found);
    return found;
  };
  const known = join(root, 'lib/known.js');
  const pages = [];
  for (const name of ['registry-broker.js', 'registry-messages.js'])
    for (const [, knowing, path] of readFileSync(join(root, 'pages', name), 'utf8').matchAll(
      /(knowing\()?\(\) => import\('([^']+)'\)/g,
    )) {
      pages.push(path);
      assert.equal(!!knowing, closure(join(root, 'pages', path)).has(known), `${path} needs the settings`);
    }
  assert.ok(pages.length > 20, 'the pattern finds nothing');
});

check('a badge tells whether an argument or a policy is in force', () => {
  const q = queue({
    arguments: { 'x-message-ttl': 60000, 'x-max-length': 10, 'x-dead-letter-exchange': 'a', 'x-foo': 1 },
    effective_policy_definition: { 'message-ttl': 1000, 'max-length': 20, 'dead-letter-exchange': 'b', expires: 5 },
  });
  const by = Object.fromEntries(badgesOf(q).map((b) => [b.code, [b.value, b.from]]));
  assert.deepEqual(by.TTL, [1000, 'policy'], 'the smaller value applies');
  assert.deepEqual(by.Lim, [10, 'argument']);
  assert.deepEqual(by.DLX, ['a', 'argument'], 'the argument wins');
  assert.deepEqual(by.Exp, [5, 'policy']);
  assert.deepEqual(by.Args, ['x-foo=1', 'argument']);
  assert.equal(by.SAC, undefined);
  assert.deepEqual(
    effective(
      queue({ arguments: { 'x-delivery-limit': -1 }, effective_policy_definition: { 'delivery-limit': 5 } }),
      'delivery-limit',
    ),
    { value: 5, from: 'policy' },
  );
});

check('saved filters', () => {
  assert.ok(filters.ttl(queue({ arguments: { 'x-message-ttl': 1 } })));
  assert.ok(
    !filters.ttl(
      queue({ arguments: { 'x-message-ttl': 1 }, effective_policy_definition: { 'dead-letter-exchange': '' } }),
    ),
  );
  assert.ok(filters.dlq(queue(), new Set(['/\nq'])));
});

check('settings become arguments, without those that mean nothing alone', () => {
  const alone = { 'dead-letter-routing-key': 'ignored', overflow: 'reject-publish', 'delayed-retry-min': 5 };
  assert.deepEqual(argumentsOf({ type: 'classic', settings: alone, more: {} }), {});
  assert.deepEqual(
    argumentsOf({
      type: 'quorum',
      settings: {
        'dead-letter-exchange': '',
        'dead-letter-routing-key': 'dead',
        'message-ttl': 0,
        'max-length': 5,
        'max-length-bytes': null,
        overflow: 'reject-publish',
        'delivery-limit': -1,
        'single-active-consumer': false,
        'delayed-retry-type': 'all',
        'delayed-retry-steps': '1m,5m',
      },
      more: { a: 1 },
    }),
    {
      'x-queue-type': 'quorum',
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': 'dead',
      'x-message-ttl': 0,
      'x-max-length': 5,
      'x-delivery-limit': -1,
      'x-overflow': 'reject-publish',
      'x-delayed-retry-type': 'all',
      'x-delayed-retry-steps': '1m,5m',
      a: 1,
    },
  );
});

check('a declaration is compared with what is there', () => {
  const q = queue({ arguments: { 'x-message-ttl': 1 } });
  assert.deepEqual(
    inequivalent(q, {
      durable: true,
      auto_delete: false,
      arguments: { 'x-message-ttl': 1, 'x-queue-type': 'classic' },
    }),
    [],
  );
  assert.deepEqual(
    inequivalent(q, { durable: true, auto_delete: true, arguments: {} }).map((d) => d.name),
    ['auto_delete', 'x-message-ttl'],
  );
  const plain = { durable: true, auto_delete: false, arguments: {} };
  assert.deepEqual(
    inequivalent(queue({ arguments: {} }), plain, 'quorum').map((d) => d.name),
    ['x-queue-type'],
  );
  const settings = {};
  assert.deepEqual(argumentsOf({ type: 'classic', usual: 'quorum', settings, more: {} }), {
    'x-queue-type': 'classic',
  });
  assert.deepEqual(argumentsOf({ type: 'quorum', usual: 'quorum', settings, more: {} }), {});
});

test('the mark of a queue is taken back; without one the queue becomes what it is not', () => {
  const by = (source, value) => markOf([{ name: 'dead-letter-queue', source, value }]);
  assert.deepEqual(
    [by('option', true), by('option', false), by('argument', true), markOf([])],
    [true, false, null, null],
  );
  const next = (role, mark) => nextMark(role, mark).mark;
  assert.deepEqual([next('', null), next('retry', null), next('dead_letter', null)], [true, true, false]);
  assert.deepEqual([next('dead_letter', true), next('', false)], [null, null]);
});

check('a duration that is typed means what the broker means by it', () => {
  for (const { text, ms } of told.durations) {
    const got = readDuration(text);
    assert.equal(got.ms ?? -1, ms, text);
    assert.equal('error' in got, ms < 0, text);
    if (ms >= 0) assert.equal(readDuration(durationText(ms)).ms, ms, `${text}, written again`);
  }
});

test('a number without a unit is milliseconds where a field counts in them, and nothing where not', () => {
  assert.deepEqual(readDuration('1500', true), { ms: 1500 });
  assert.deepEqual(readDuration('1500').error, 'duration.no_unit');
  assert.deepEqual(readDuration('1.5', true).error, 'duration.no_unit');
  assert.deepEqual([0, 999, 5400000, 90061001].map(durationText), ['0', '999ms', '1h30m', '1d1h1m1s1ms']);
  assert.deepEqual([durationText(null), durationText(undefined)], ['', '']);
});

test('durations are read as the console shows them, and sent as the broker reads them', () => {
  const shown = {
    '5 s': 5e3,
    '2 h 5 min': 75e5,
    '1 d 2 h': 936e5,
    '1 hour 30 minutes 5 seconds': 5405e3,
    '15\u00a0min': 9e5,
  };
  const chinese = { '5 秒': 5e3, '2\u00a0小时 5\u00a0分钟': 75e5, '1 天': 864e5, '250 毫秒': 250 };
  const typed = {
    '１５分钟': 9e5,
    '１５ｍ': 9e5,
    '15ｍ': 9e5,
    '15分': 9e5,
    '2时30分': 9e6,
    '1周': 6048e5,
    '　1.５h': 54e5,
  };
  for (const [text, ms] of Object.entries(typed)) assert.deepEqual(readDuration(text), { ms }, text);
  for (const [text, ms] of Object.entries({ ...shown, ...chinese })) assert.deepEqual(readDuration(text), { ms }, text);
  for (const text of ['1 000 s', '5 s m', '1 h 30', '1 .5 s', '1. 5s', '5 constructor'])
    assert.equal(readDuration(text).error, 'duration.wrong', text);
  for (const text of ['5 s, 30 s, 5 min', '5 秒、30 秒、5 分钟', '5s，30s，5m', '5s;30s；5m', '５ｓ，３０ｓ、５ｍ'])
    assert.deepEqual(readSteps(text), { steps: [5e3, 3e4, 3e5] }, text);
  assert.equal(plainSteps(' 5 s, 90s,5 min,1.5h, 1h30m、2 分钟'), '5s, 90s, 5m, 1.5h, 1h30m, 2m');
  assert.equal(plainSteps(' 1s,5s, 30s '), '1s,5s, 30s');
  for (const text of ['１ｍ；５ｍ', '1m;5m', '1m、5m']) assert.equal(plainSteps(text), '1m, 5m', text);
  assert.equal(plainSteps('1m，5m'), '1m,5m');
  assert.equal(plainSteps('15分,5minutes'), '15m, 5m');
});

test('steps are refused with what is wrong', () => {
  assert.deepEqual(readSteps('1s, 5s,30s'), { steps: [1000, 5000, 30000] });
  const errors = ['1s,5', '1s,', '1s,,2s', '0s', '3651d', 'soon', '', Array(65).fill('1s').join()].map(
    (x) => readSteps(x).error,
  );
  assert.deepEqual(
    errors,
    ['no_unit', 'no_step', 'no_step', 'step_range', 'step_range', 'wrong', 'no_step', 'many'].map(
      (x) => `duration.${x}`,
    ),
  );
});

check('what is wrong with a filter is said in the words of each language', () => {
  for (const fault of told.faults) {
    const { kind } = read(fault);
    assert.notEqual(kind, 'other', fault);
    for (const lang of ['en', 'zh-CN']) assert.ok(words(lang)[kind.includes('.') ? kind : `fault.${kind}`], kind);
  }
  assert.ok(told.faults.length > 20);
});

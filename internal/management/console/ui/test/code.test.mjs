// What users copy out of the console: commands and code.
import test from 'node:test';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ctl, curl, inVHost, toBroker, typed } from '../lib/commands.js';
import { jobCommands } from '../pages/code/commands.js';
import { patternOf } from '../pages/broker/queue-name.js';
import { cases, codesOf, commandsOf, exported, hard } from './samples.mjs';

const ui = fileURLToPath(new URL('..', import.meta.url));
const at = { base: 'http://localhost:15672', host: 'localhost', user: 'guest' };
const commands = commandsOf(cases(at));

// words that shells change unless they are quoted
const words = [
  hard,
  '',
  'plain',
  '"',
  '\\',
  'ends \\',
  'a\\"b',
  '%PATH%',
  '%PATH:a=b% "c&d"',
  '100%',
  '-',
  '~',
  '*',
  '#',
  '!x',
];

test('a shell of Linux hands over each word unchanged', () => {
  for (const command of [['printf', ...words], ...commands.map((c) => c.flat())]) {
    const line = typed(['printf', '%s\\0', ...command]).linux;
    const got = spawnSync('sh', ['-c', line], { encoding: 'utf8' }).stdout;
    assert.deepEqual(got.split('\0').slice(0, -1), command, line);
  }
});

// cmdLine is what cmd.exe hands to a program when a line is typed: phases 1 and 2 of how the command interpreter of
// Windows parses lines.
function cmdLine(line) {
  assert.doesNotMatch(line, /%PATH[%:]/, `a variable is expanded: ${line}`);
  let [given, quoted, escaped] = ['', false, false];
  for (const c of line) {
    if (!escaped && !quoted && c === '^') {
      escaped = true;
      continue;
    }
    if (!escaped && c === '"') quoted = !quoted;
    assert.ok(escaped || quoted || !/[&|<>()]/.test(c), `${c} has a meaning to cmd.exe: ${line}`);
    given += c;
    escaped = false;
  }
  return given;
}

// divide makes words of a line as programs of Windows do.
function divide(line) {
  const all = [];
  let [word, quoted, some] = ['', false, false];
  for (const [, slashes, c] of line.matchAll(/(\\*)([^\\]|$)/gs)) {
    word += c === '"' ? slashes.slice(slashes.length / 2) : slashes;
    some ||= slashes !== '';
    if (c === '"' && slashes.length % 2)
      word = word.slice(0, -Math.ceil(slashes.length / 2)) + '\\'.repeat((slashes.length - 1) / 2) + '"';
    else if (c === '"') [quoted, some] = [!quoted, true];
    else if (quoted || (c !== ' ' && c !== '')) [word, some] = [word + c, true];
    else if (some) {
      all.push(word);
      [word, some] = ['', false];
    }
  }
  return all;
}

test('cmd.exe hands over each word unchanged', () => {
  for (const command of [['program', ...words], ...commands.map((c) => c.flat())]) {
    const line = typed(command).windows;
    if (line === '') continue; // a word of several lines
    assert.deepEqual(divide(cmdLine(line)), command, line);
  }
  assert.equal(typed(['x', '{"a":"b"}']).windows, String.raw`x "{\"a\":\"b\"}"`);
});

test('commands', () => {
  assert.deepEqual(ctl('dlq show', ['-x'], inVHost('shop')), [
    'bartleby',
    'ctl',
    'dlq',
    'show',
    '--vhost',
    'shop',
    '--',
    '-x',
  ]);
  assert.deepEqual(ctl('lint', [], inVHost('/')), ['bartleby', 'ctl', 'lint']);
  assert.deepEqual(curl({ ...at, user: 'ann' }, 'GET', 'overview'), [
    'curl',
    '-u',
    'ann',
    'http://localhost:15672/api/overview',
  ]);
  assert.equal(
    typed(curl(at, 'POST', 'x', { a: 1 })).linux,
    `curl -u guest:guest http://localhost:15672/api/x \\\n  -d '{"a":1}'`,
  );
  assert.equal(patternOf(['a.b']), '^a\\.b$');
  assert.equal(patternOf(['a', 'b']), '^(a|b)$');
});

test('a command says where the broker is, unless it would look there by itself', () => {
  const lint = ctl('lint', [], inVHost('shop'));
  const shown = (base) => typed(toBroker(lint, { base })).linux;
  assert.equal(shown('http://localhost:15672'), 'bartleby ctl lint --vhost shop');
  assert.equal(shown('http://127.0.0.1:15672'), 'bartleby ctl lint --vhost shop');
  const elsewhere = [
    'http://localhost:15673',
    'https://localhost:15672',
    'http://broker.example:15672',
    'http://localhost:15672/mq',
  ];
  for (const base of elsewhere) assert.equal(shown(base), `bartleby ctl --node ${base} lint --vhost shop`);
  const policy = { vhost: '/', name: 'p', pattern: '', definition: {}, priority: 0, applyTo: 'all' };
  assert.match(exported.policyCodes({ ...at, base: elsewhere[0] }, policy).windows, /^bartleby ctl --node http/);
  const other = curl(at, 'GET', 'overview');
  assert.deepEqual(toBroker(other, { base: elsewhere[0] }), other);
});

test('a job is begun by a command with the options that the dialog has', () => {
  const body = {
    source: { queue: 'orders.dlq' },
    action: 'redrive',
    target: { to: 'queue' },
    filter: 'age:>1h',
    options: { order: 'oldest', rate: 100, canary: 10, watch_ms: 5000, stop_percent: 20, stop_no_consumer: true },
  };
  assert.equal(
    typed(jobCommands(at, 'shop', body).ctl).linux,
    `bartleby ctl dlq redrive orders.dlq --vhost shop --where 'age:>1h' --rate 100 --canary 10 --watch 5s --stop-percent 20 --stop-without-consumer`,
  );
  const lost = { source: { lost: true }, action: 'discard', ids: [4, 7] };
  assert.equal(typed(jobCommands(at, '/', lost).ctl).linux, 'bartleby ctl dlq discard 4 7 --yes --lost');
  const elsewhere = { ...body, filter: '', options: {}, target: { to: 'elsewhere', exchange: 'x', routing_key: 'k' } };
  assert.equal(
    typed(jobCommands(at, '/', elsewhere).ctl).linux,
    'bartleby ctl dlq redrive orders.dlq --exchange x --routing-key k',
  );
});

test('samples connect to the port that the broker has, over TLS where there is no other', () => {
  const python = (more) => exported.connectCode({ ...at, ...more }, '/').python;
  assert.match(python({}), /"amqp:\/\/guest:guest@localhost:5672\/%2F"/);
  assert.match(python({ port: 5673, tls: false }), /"amqp:\/\/guest:guest@localhost:5673\/%2F"/);
  assert.match(python({ port: 5671, tls: true }), /"amqps:\/\/guest:guest@localhost:5671\/%2F"/);
});

test('every text to copy has a sample, which Go tests run', () => {
  assert.deepEqual(Object.keys(cases(at)).sort(), Object.keys(exported).sort());
  const missing = JSON.stringify([commands, codesOf(cases(at))]).match(/undefined|\[object/);
  assert.equal(missing, null);
});

test('commands and code to copy stand in pages/code only', () => {
  const files = readdirSync(ui, { recursive: true, encoding: 'utf8' }).filter((f) => /^(lib|pages)\/.*\.js$/.test(f));
  for (const file of files.filter((f) => !/^pages\/code\/|^lib\/commands\.js$/.test(f))) {
    const text = readFileSync(ui + file, 'utf8');
    assert.doesNotMatch(text, /bartleby ctl|rabbitmqctl|curl -|channel\.(queue|basic|assert)|amqp:\/\//, file);
    for (const [, value] of text.matchAll(/\bcli=(\S*)/g)) assert.match(value, /^\$\{.*/, file);
  }
});

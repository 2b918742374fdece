// When messages are tried again. TestConsoleScripts writes to the file BARTLEBY_SETTINGS what the broker does.
import test from 'node:test';
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { planOf, retriesOf, waits } from '../pages/broker/retry-plan.js';

const file = process.env.BARTLEBY_SETTINGS;
const told = file ? JSON.parse(readFileSync(file, 'utf8')) : { waits: [] };
const check = (name, run) => test(name, { skip: !file && 'run by go test ./internal/management/console' }, run);

check('a message is tried again when the broker would', () => {
  for (const { definition, waits: want } of told.waits) {
    const wait = waits(definition);
    assert.deepEqual(
      want.map((_, n) => wait?.(n + 1) ?? 0),
      want,
      JSON.stringify(definition),
    );
  }
});

test('the plan of retries says when, how often, and whether it ends', () => {
  const all = { 'delayed-retry-type': 'all' };
  const ladder = { ...all, 'delayed-retry-steps': '1s, 5s, 30s' };
  const plan = (more) => planOf({ ...ladder, ...more });
  assert.deepEqual(plan({ 'delayed-retry-attempts': 3 }), { at: [1000, 6000, 36000], all: 3, last: null, every: null });
  assert.deepEqual(plan({ 'delayed-retry-attempts': 3, 'delivery-limit': 1 }).at, [1000], 'the smaller limit ends it');
  assert.deepEqual(plan({ 'delivery-limit': 0 }).all, 0);
  assert.deepEqual(plan({ 'delivery-limit': -1 }).every, 30000);
  assert.deepEqual(plan({ 'delayed-retry-attempts': 10 }), {
    at: [1000, 6000, 36000, 66000, 96000, 126000],
    all: 10,
    last: 246000,
    every: null,
  });
  assert.equal(planOf({ ...ladder, 'delayed-retry-type': 'disabled' }), null);
  assert.equal(planOf(all), null);
  assert.equal(planOf({ ...all, 'delayed-retry-steps': '1s,5' }), null);
});

test('what returned messages meet: how many returns, and how long each waits', () => {
  const ladder = { 'delayed-retry-type': 'all', 'delayed-retry-steps': '1s, 5s' };
  assert.deepEqual(retriesOf({ ...ladder, 'delayed-retry-attempts': 3, 'delivery-limit': 20 }), {
    most: 3,
    waits: [1000, 5000, 5000],
    more: false,
  });
  assert.deepEqual(retriesOf({ ...ladder, 'delivery-limit': null }).more, true);
  const off = { ...ladder, 'delayed-retry-type': 'disabled', 'delayed-retry-attempts': 3, 'delivery-limit': 20 };
  assert.deepEqual(retriesOf(off), { most: 20, waits: [], more: false });
  assert.deepEqual(retriesOf({ 'delivery-limit': -1 }), { most: Infinity, waits: [], more: false });
});

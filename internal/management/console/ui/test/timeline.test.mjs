import test from 'node:test';
import assert from 'node:assert/strict';
import { stops } from '../pages/messages/timeline.js';

test('a death after a redrive stands behind it, where it is known to be one', () => {
  const death = (reason, time, count = 1) => ({ queue: 'work', reason, time, count, exchange: '', 'routing-keys': [] });
  const kinds = (more) => {
    const deaths = [death('rejected', 1700000060), death('expired', 1700000000)];
    const at = new Date(1700000060400).toISOString();
    const message = { place: 'queue', queue: 'dlq', state: 'ready', exchange: '', routing_keys: ['dlq'], at, deaths };
    return stops({ ...message, redrives: 1, came_back: true, ...more }).map((s) => s.reason || s.kind);
  };
  assert.deepEqual(kinds({}), ['publish', 'expired', 'redrive', 'rejected', 'now']);
  const behind = ['publish', 'expired', 'rejected', 'redrive', 'now'];
  assert.deepEqual(kinds({ came_back: false }), behind);
  const again = { at: new Date(1700000090000).toISOString() };
  assert.deepEqual(kinds(again), behind, 'it died of the same');
});

// Sentences that the broker says in English, of settings and policies, found again in the dictionaries. Pure.

// finder finds texts of a list, each what the broker writes, with {names}, and its key: {key, params}, null if it is none of these.
export function finder(/** @type {string[][]} */ list) {
  const sentences = list.map(([text, key]) => ({
    pattern: new RegExp(`^${text.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.*)')}$`, 's'),
    key,
  }));
  return (text) => {
    for (const { pattern, key } of sentences) {
      const m = pattern.exec(text);
      if (m) return { key, params: /** @type {Record<string, any>} */ ({ ...m.groups }) };
    }
    return null;
  };
}

// find is the key and the params of a sentence, null if it is none of these.
export const find = finder([
  ['not set', 'said.nobody'],
  ['no other source sets it', 'said.only'],
  ['set by a virtual host option or the dialect', 'said.option'],
  ['the option dlx-by-argument-only is on', 'said.argument_only'],
  ['the smaller value applies', 'said.smaller'],
  ['the larger value applies', 'said.larger'],
  ['the option dead-letter-queues overrides the argument, which overrides policies', 'said.mark_first'],
  ['the argument overrides policies', 'said.argument_first'],
  ['policies override the argument', 'said.policy_first'],
  ['the operator policy overrides the argument, which overrides the policy', 'said.operator_first'],
  ['the smaller value applies, and a negative value means no limit', 'said.smaller_limit'],
  ['the smaller value applies, and 0 means no timeout', 'said.smaller_timeout'],
  ['the larger policy value applies, or the argument if it is smaller', 'said.retry_min'],
  ['{asked}, which a quorum queue treats as {value}', 'said.quorum_takes'],
  ['the argument sets {value}', 'said.argument_asks'],
  ["option '{name}' sets {value}", 'said.option_asks'],
  ["policy '{name}' sets {value}", 'said.policy_asks'],
  ["operator policy '{name}' sets {value}", 'said.operator_asks'],
  ['unknown argument', 'said.unknown'],
  ['accepted for compatibility with RabbitMQ, no effect', 'said.accepted'],
  ['no effect on queues', 'said.no_effect'],
  ["exchange '{name}' does not exist: dead letters of the queue become lost letters", 'said.no_exchange'],
  ["exchange '{name}' does not exist: until it exists, dead letters become lost letters", 'said.missing_lost'],
  ["exchange '{name}' does not exist: until it exists, dead letters are held in their queue", 'said.missing_held'],
  ["exchange '{name}' has no bindings: until it has some, dead letters become lost letters", 'said.unbound_lost'],
  ["exchange '{name}' has no bindings: until it has some, dead letters are held in their queue", 'said.unbound_held'],
  ["queue '{name}' does not exist: until it exists, dead letters become lost letters", 'said.no_queue_lost'],
  ["queue '{name}' does not exist: until it exists, dead letters are held in their queue", 'said.no_queue_held'],
  [
    'without a dead-letter routing key, the default exchange returns a dead letter that was published to a queue by its name to this queue; set one',
    'said.same_queue',
  ],
  [
    "policy '{name}' matches queue '{queue}', which receives its dead letters: messages that die there return there; change the pattern to exclude it",
    'said.own_letters',
  ],
  [
    "queue '{queue}' has a dead-letter routing key and no dead-letter exchange: the key has no effect",
    'said.key_alone',
  ],
  ["queue '{queue}' keeps its dead-letter exchange '{name}': its argument overrides the policy", 'said.keeps_dlx'],
  [
    "queue '{queue}' has delayed-retry-steps: delayed-retry-min, delayed-retry-max and delayed-retry-backoff have no effect",
    'said.steps_alone',
  ],
  [
    "queue '{queue}' exceeds max-length-bytes by {bytes} bytes: about {n} messages are dropped from its head immediately",
    'said.too_large',
  ],
  ["queue '{queue}' exceeds its limit by {n} messages: they are dropped from its head immediately", 'said.too_many'],
  ['and {n} more warnings like the last one', 'said.more'],
]);

// parts cuts what stands for itself out of a text: 'a; b, c' is [a, b, c].
export const parts = (text) =>
  find(text)
    ? [text]
    : text
        .split('; ')
        .flatMap((x) => (find(x) ? [x] : x.split(/, (?=the argument sets |option '|policy '|operator policy ')/)));

const nothing = ['the default exchange', 'an empty text']; // what the broker writes for a value that is empty

// saysDrop tells whether a warning is about messages that go at once: the console says that in a sentence of its own.
export const saysDrop = (text) => ['said.too_large', 'said.too_many'].includes(find(text)?.key);

// said is a text in another language: translate(key, params) gives the words, write(value) a value as people read it. What is not known
// stays as it is.
export function said(text, translate, write = (value) => value) {
  const all = parts(text).map((x) => {
    const f = find(x);
    if (!f) return x;
    if (f.params.asked) f.params.asked = said(f.params.asked, translate, write);
    if (/^-?\d+$/.test(f.params.value)) f.params.value = write(Number(f.params.value));
    if (nothing.includes(f.params.value)) f.params.value = write('');
    return translate(f.key, f.params);
  });
  return all.reduce((a, b) => translate('said.both', { a, b }));
}

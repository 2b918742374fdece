// Sentences that the broker says in English, of settings and policies, found again in the dictionaries. Pure.

// Each is what the broker writes, with {names}, and its key.
const sentences = [
  ['nothing sets it', 'said.nobody'], ['nothing else sets it', 'said.only'], ['an option of the virtual host, or its dialect, sets it', 'said.option'],
  ['the option dlx-by-argument-only is on', 'said.argument_only'], ['the smaller one counts', 'said.smaller'], ['the argument wins over policies', 'said.argument_first'],
  ['policies win over the argument', 'said.policy_first'], ['the operator policy wins over the argument, and that over the policy', 'said.operator_first'],
  ['the smaller one counts, and a negative one, which is unlimited, gives way', 'said.smaller_limit'],
  ['the smaller one counts, and 0, which is none, gives way', 'said.smaller_timeout'],
  ['of policies the larger one counts, and of that and the argument the smaller', 'said.retry_min'],
  ['{asked}, which a quorum queue takes for {value}', 'said.quorum_takes'],
  ['the argument asks for {value}', 'said.argument_asks'], ["policy '{name}' asks for {value}", 'said.policy_asks'], ["operator policy '{name}' asks for {value}", 'said.operator_asks'],
  ['no argument that the broker knows', 'said.unknown'], ["accepted for RabbitMQ's sake, without effect", 'said.accepted'], ['without effect on a queue', 'said.no_effect'],
  ["there is no exchange '{name}': dead letters of the queue go to the lost letters", 'said.no_exchange'],
  ["policy '{name}' matches queue '{queue}', to which its dead letters go: what dies there goes there again; a pattern that leaves it out avoids that", 'said.own_letters'],
  ["queue '{queue}' has {n} messages too many: they are dropped from its head at once", 'said.too_many'], ['and {n} more like the last', 'said.more'],
].map(([text, key]) => [new RegExp(`^${text.replace(/[.*+?^$()|[\]\\]/g, '\\$&').replace(/\{(\w+)\}/g, '(?<$1>.*)')}$`, 's'), key]);

// find is the key and the params of a sentence, null if it is none of these.
export function find(text) {
  for (const [pattern, key] of sentences) {
    const m = pattern.exec(text);
    if (m) return { key, params: { ...m.groups } };
  }
  return null;
}

// parts cuts what stands for itself out of a text: 'a; b, c' is [a, b, c].
export const parts = (text) => (find(text) ? [text] : text.split('; ').flatMap((x) => (find(x) ? [x] : x.split(/, (?=the argument asks for |policy '|operator policy ')/))));

// said is a text in another language: translate(key, params) gives the words. What is not known stays as it is.
export function said(text, translate) {
  const all = parts(text).map((x) => {
    const f = find(x);
    if (!f) return x;
    if (f.params.asked) f.params.asked = said(f.params.asked, translate);
    return translate(f.key, f.params);
  });
  return all.join('; ');
}

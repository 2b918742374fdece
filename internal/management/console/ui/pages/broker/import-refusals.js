// What the broker refuses of an import, found again in the dictionaries: names stay, and what is not known stays as it is. Pure.
import { finder } from './said.js';

// What is refused, before a colon and the reason.
const frame = finder(
  [
    ["policy '{name}' in vhost '{vhost}'", 'import_of.policy'],
    ["parameter '{name}' of component '{component}' in vhost '{vhost}'", 'import_of.parameter'],
    ["exchange '{name}' in vhost '{vhost}'", 'import_of.exchange'],
    ["queue '{name}' in vhost '{vhost}'", 'import_of.queue'],
    ["binding of {kind} '{to}' to exchange '{from}' in vhost '{vhost}'", 'import_of.binding'],
    ["permissions of user '{name}' in vhost '{vhost}'", 'import_of.permissions'],
    ["topic permissions of user '{name}' in vhost '{vhost}'", 'import_of.topic_permissions'],
    ["user '{name}'", 'import_of.user'],
    ["vhost '{name}'", 'import_of.vhost'],
    ["limits of vhost '{name}'", 'import_of.limits'],
  ].map(([text, key]) => [`${text}: {why}`, key]),
);

const patternKey = 'import_why.pattern';

const reason = finder([
  ["no exchange '{name}' in vhost '{vhost}'", 'import_why.no_exchange'],
  ["no queue '{name}' in vhost '{vhost}'", 'import_why.no_queue'],
  ["no user '{name}'", 'import_why.no_user'],
  ["no vhost '{name}', which the definitions refer to", 'import_why.no_vhost'],
  ['component {name} not found', 'import_why.component'],
  ["invalid arg '{name}' for queue '{queue}' in vhost '{vhost}': {why}", 'import_why.argument'],
  ["invalid type '{type}' for arg '{name}' in {kind} '{of}' in vhost '{vhost}'", 'import_why.argument_type'],
  ["invalid property '{name}' for queue '{queue}' in vhost '{vhost}'", 'import_why.property'],
  ["queue type '{type}' of queue '{queue}' in vhost '{vhost}' is not supported", 'import_why.queue_type'],
  ['"unsupported queue type \'{type}\'"', 'import_why.queue_type'],
  ["unknown exchange type '{type}'", 'import_why.exchange_type'],
  ["Invalid argument, 'x-delayed-type' must be an existing exchange type", 'import_why.delayed_type'],
  ['Invalid x-match field value <<"{value}">>; expected {all}', 'import_why.match'],
  ['"expected integer, got {got}"', 'import_why.no_integer'],
  ['{value_negative,{value}}', 'import_why.negative'],
  ['invalid_overflow', 'import_why.overflow'],
  ['routing_key_but_no_dlx_defined', 'import_why.no_dlx'],
  ['{names} are not recognised policy settings', 'import_why.settings'],
  ['<<"{value}">> is not a valid {what}', 'import_why.value'],
  ["apply-to '{value}' unrecognised; should be one of: {all}", 'import_why.apply_to'],
  ['no policy provided', 'import_why.empty_policy'],
  ['delayed-retry-min is required when delayed-retry-type is {value}', 'retry.needs_waits'],
  [
    'pattern should be regular expression but is invalid: {why}; regular expressions have the syntax of RE2, without lookaheads, lookbehinds and back references',
    patternKey,
  ],
  ['password_hash is not base64: {why}', 'import_why.password_hash'],
  ["destination_type must be queue or exchange, not '{value}'", 'import_why.destination'],
  ['there would be {n} vhosts, which exceeds the limit of {most}', 'import_why.vhosts'],
  ['{n} queues, {new} of them new, exceed its limit of {most}', 'import_why.queues'],
  ['and {n} more', 'import_why.more'],
  ['these are definitions of a single virtual host: import them at /api/definitions/{vhost}', 'import_why.one_vhost'],
]);

// patternTrouble is whether a policy was refused because of its pattern.
export const patternTrouble = (text) => reason(plainOf(text))?.key === patternKey;

const plainOf = (text) => text.replace(/^Validation failed:?\s+/, '').trimEnd();

// refusal is a refusal in another language: translate(key, params) gives the words.
export function refusal(text, translate) {
  const whole = frame(text);
  if (whole) return translate(whole.key, { ...whole.params, why: refusal(whole.params.why, translate) });
  const plain = plainOf(text);
  const found = reason(plain);
  if (!found) return plain;
  const { params } = found;
  const list = (names) => names.join(translate('frame.comma'));
  if (params.names) params.names = list([...params.names.matchAll(/\{<<"(.*?)">>,/g)].map((m) => m[1]));
  if (params.all) params.all = list(params.all.match(/[\w-]+/g).filter((x) => x !== 'or'));
  if (params.why && found.key === 'import_why.argument') params.why = refusal(params.why, translate);
  return translate(found.key, params);
}

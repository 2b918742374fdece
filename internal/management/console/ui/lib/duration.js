// Durations as people write them, in the grammar of the broker: 90s, 1h30m, 1.5h. Pure. The broker's package duration is the source of
// the grammar; a test compares both. What the console shows is read, too, and rewritten for the broker: 5 min, 1 hour 30 minutes, 5 分钟, １５ｍ.

const nanoseconds = {
  us: 1000n,
  µs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  min: 60_000_000_000n,
  h: 3_600_000_000_000n,
  d: 86_400_000_000_000n,
  w: 604_800_000_000_000n,
  f: 1_209_600_000_000_000n,
};
// shown are units as the console shows them, in its languages.
const shown = {
  second: 's',
  seconds: 's',
  minute: 'm',
  minutes: 'm',
  hour: 'h',
  hours: 'h',
  day: 'd',
  days: 'd',
  week: 'w',
  weeks: 'w',
  毫秒: 'ms',
  秒: 's',
  分: 'm',
  分钟: 'm',
  时: 'h',
  小时: 'h',
  天: 'd',
  日: 'd',
  周: 'w',
};
const longest = 36525n * nanoseconds.d; // a hundred years

// halfWidth is a text with the characters of a Chinese or Japanese keyboard in their usual width: １ｍ is 1m, and ， a comma.
const halfWidth = (text) =>
  text.replace(/[！-～]/g, (c) => String.fromCharCode(c.charCodeAt(0) - 0xfee0)).replace(/\u3000/g, ' ');

const refuse = (error, text, more = {}) => ({ error, params: { text, ...more } });

// readDuration reads a text: {ms}, or {error, params}, the key of a text and its parameters. With bare, a whole number without a unit is ms.
export function readDuration(typed, bare = false) {
  const text = halfWidth(typed).trim();
  if (text === '0') return { ms: 0 };
  if (bare && /^\d+$/.test(text))
    return BigInt(text) * nanoseconds.ms > longest ? refuse('duration.long', text) : { ms: Number(text) };
  if (/^[\d.]*\d[\d.]*$/.test(text)) return refuse('duration.no_unit', text, { s: `${text}s`, ms: `${text}ms` });
  let sum = 0n;
  let rest = text;
  do {
    const [all, whole, fraction = '', given] = /^(\d+)(?:\.(\d+))?\s*([^\d.\s]+)\s*/.exec(rest) ?? [];
    const unit = given?.toLowerCase().replace('μ', 'µ');
    const length = nanoseconds[shown[unit] ?? unit];
    if (!length) return refuse('duration.wrong', text, { a: '90s', b: '15m', c: '1h30m' });
    sum += BigInt(whole) * length;
    let part = length;
    for (const digit of fraction) {
      part /= 10n;
      sum += BigInt(digit) * part;
    }
    rest = rest.slice(all.length);
  } while (rest !== '');
  if (sum > longest) return refuse('duration.long', text);
  if (sum % nanoseconds.ms !== 0n) return refuse('duration.part', text);
  return { ms: Number(sum / nanoseconds.ms) };
}

/** @type {[string, number][]} */
const parts = [
  ['d', 864e5],
  ['h', 36e5],
  ['m', 6e4],
  ['s', 1e3],
  ['ms', 1],
];

// durationText is what readDuration reads as so many ms: 1h30m. '' for nothing.
export function durationText(ms) {
  if (ms === null || ms === undefined || Number.isNaN(ms)) return '';
  if (!(ms > 0)) return String(ms);
  let text = '';
  for (const [unit, length] of parts) {
    const n = Math.floor(ms / length);
    if (n > 0) text += n + unit;
    ms -= n * length;
  }
  return text;
}

const commas = /[,;、]/;
const mostSteps = 64;
const longestStep = 3650 * 864e5;

// readSteps reads a list of waits such as 10m,30m,1h: {steps} in ms, or {error, params}. Source: RetrySteps in the broker's settings.
// They are separated by commas or semicolons, those of Chinese too.
export function readSteps(typed) {
  const text = halfWidth(typed);
  const steps = [];
  for (const raw of text.split(commas)) {
    const { ms, error, params } = readDuration(raw);
    if (error) return raw.trim() === '' ? refuse('duration.no_step', text) : { error, params };
    if (ms < 1 || ms > longestStep) return refuse('duration.step_range', raw.trim());
    if (steps.length === mostSteps) return refuse('duration.many', text, { n: mostSteps });
    steps.push(ms);
  }
  return { steps };
}

const plain = /^\s*([\d.]+(us|µs|μs|ms|s|m|min|h|d|w|f))+\s*$/i;

// plainSteps is a list that readSteps reads, in the grammar of the broker: what is in it already stays as it is.
export function plainSteps(typed) {
  const text = halfWidth(typed);
  const all = text.split(commas);
  if (all.every((raw) => plain.test(raw)) && !/[;、]/.test(text)) return text.trim();
  return all.map((raw) => (plain.test(raw) ? raw.trim() : durationText(readDuration(raw).ms))).join(', ');
}

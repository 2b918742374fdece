// Numbers with their units, as the console writes them: one way for each language, which the texts unit.… hold. Pure: say(key, params)
// is t, or what stands for it in tests.

// written puts a number and its unit into one line.
const written = (say, key, n) => say(key, { n }).replaceAll(' ', '\u00a0');

/** @type {[string, number][]} */
const lengths = [
  ['d', 864e5],
  ['h', 36e5],
  ['min', 6e4],
  ['s', 1e3],
];

// span is a length of time in ms, in its two largest units: 2 h 5 min.
export function span(ms, say) {
  if (ms === null || ms === undefined) return '–';
  if (ms < 0) return '−' + span(-ms, say);
  if (ms < 1000) return written(say, 'unit.ms', ms < 10 ? Math.round(ms * 100) / 100 : Math.round(ms));
  const out = [];
  let units = 0;
  for (const [name, length] of lengths) {
    const n = Math.floor(ms / length);
    if (n > 0) out.push(written(say, `unit.${name}`, n));
    ms -= n * length;
    if (out.length > 0 && ++units === 2) break;
  }
  return out.join(' ');
}

/** @type {[string, number][]} */
const exactly = [...lengths, ['ms', 1]];

// exact is a length of time in ms, in words and all its units: 1 hour 30 minutes.
export function exact(ms, say) {
  const out = [];
  for (const [name, length] of exactly) {
    const n = Math.floor(ms / length);
    if (n > 0 || (name === 'ms' && out.length === 0)) out.push(written(say, `unit.long_${name}`, n));
    ms -= n * length;
  }
  return out.join(' ');
}

/** @type {[string, number][]} */
const ages = [['year', 31557600e3], ['month', 2629800e3], ...lengths];

// per is a span that a count is of: a minute of "per minute", 5 min of "per 5 min".
export function per(ms, say) {
  const one = lengths.find(([, length]) => length === ms);
  return one ? say(`unit.one_${one[0]}`) : span(ms, say);
}

// ago is a time as seen from another, by its largest unit: 3 min ago, in 2 h. What is over is rounded down, what comes to the nearest.
// Less than a second is now.
export function ago(at, now, say) {
  const ms = Math.abs(at - now);
  const round = at < now ? Math.trunc : Math.round;
  let i = ages.findIndex(([, length]) => ms >= length);
  if (i < 0) return say('unit.now');
  if (i > 0 && round(ms / ages[i][1]) * ages[i][1] >= ages[i - 1][1]) i--; // 60 min are 1 h
  const [name, length] = ages[i];
  const time = written(say, `unit.${name}`, Math.max(1, round(ms / length)));
  return say(at < now ? 'unit.ago' : 'unit.from_now', { time });
}

// left is how long it takes until something is due, in ms, in whole seconds: not less than is left, and 0 s when it is due.
export const left = (ms, say) => (ms > 0 ? span(Math.ceil(ms / 1000) * 1000, say) : written(say, 'unit.s', 0));

// percent is a share, with at most one decimal.
export const percent = (share, say) => written(say, 'unit.percent', Math.round(share * 1000) / 10);

// rate is how many there are in a second.
export const rate = (n, say) => written(say, 'unit.per_second', n < 10 ? Math.round(n * 10) / 10 : Math.round(n));

const sizes = ['B', 'kB', 'MB', 'GB', 'TB'];

// size is a number of bytes.
export function size(bytes, say) {
  if (bytes === null || bytes === undefined) return '–';
  let i = 0;
  while (bytes >= 1000 && i < sizes.length - 1) {
    bytes /= 1000;
    i++;
  }
  return written(say, `unit.${sizes[i]}`, i ? Math.round(bytes * 10) / 10 : Math.round(bytes));
}

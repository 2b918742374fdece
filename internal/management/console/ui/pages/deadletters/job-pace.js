// How a redrive goes: careful, which is the usual way, or as fast as possible. Pure.

// usualStop is the share that stops a job with a canary, in percent, unless another is chosen: a canary is there to be heeded.
export const usualStop = 20;

export const cautious = {
  rate: 100,
  canary: 10,
  watch_ms: 10000,
  ramp: false,
  stop_percent: usualStop,
  stop_no_consumer: true,
};

export const fast = { rate: 0, canary: 0, watch_ms: 10000, ramp: false, stop_percent: 0, stop_no_consumer: false };

const same = (a, b) => Object.keys(b).every((k) => a[k] === b[k]);

// paceOf is which of both the options of a job are: careful, fast, or own for neither.
export const paceOf = (options) => (same(options, cautious) ? 'careful' : same(options, fast) ? 'fast' : 'own');

// What a redrive means before it begins: how many messages, and which of them would come to where they are. Pure. Scopes are as in
// redrive.js, trials what dry runs of them answered, in the same order, or null before there were any.

// meant is how many messages that is: {n, partial, known}. It is partial where there may be more, and not known where a filter is all that
// is there to say it.
export function meant(scopes, trials) {
  if (!trials)
    return {
      n: scopes.reduce((n, s) => n + (s.count || 0), 0),
      partial: false,
      known: scopes.every((s) => s.count !== undefined),
    };
  const unsure = trials.map((x) => x.partial && x.found === null); // a job looks at all, a trial does not
  const n = trials.reduce(
    (sum, x, i) => sum + (x.partial ? (x.found ?? Math.max(x.matches, scopes[i].count || 0)) : x.matches),
    0,
  );
  return { n, partial: unsure.includes(true), known: !unsure.some((u, i) => u && scopes[i].count === undefined) };
}

// optionsFor are the options of a job once its dry run has answered. Dead-letter queues need no consumers: where nothing else lacks them
// the job does not stop for want of them.
export const optionsFor = (options, trial) =>
  trial?.dead_letter_queues.length > 0 && trial.dead_letter_queues.length === trial.no_consumers.length
    ? { ...options, stop_no_consumer: false }
    : options;

// intoSame is how many messages would come to the very queue where they are: they stay there, unless that is forced.
export const intoSame = (trial) => trial.refused.same_queue || 0;

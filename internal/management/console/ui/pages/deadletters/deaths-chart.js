// What died over time, as a chart.
import { html } from '../../lib/html.js';
import { t, num, per, word } from '../../lib/i18n.js';
import { Chart } from '../../lib/chart.js';
import { together } from '../../lib/samples.js';

// What the broker decides; clients publish the others as dead letters.
export const byBroker = ['rejected', 'expired', 'maxlen', 'delivery_limit'];
export const reasons = [...byBroker, 'republished'];

// Deaths charts those of some virtual hosts, or of a queue, by reason: how many in each step.
export function Deaths({ of, by, height, legend }) {
  const { times, died } = together(of, by);
  if (!times.length) return null;
  const title = t('overview.dying', { step: per(1000 * of[0].step_seconds) });
  return html`<${Chart} title=${title} times=${times} series=${by.map((r) => ({ label: word('reason', r), values: died[r] }))} stacked steps value=${num} height=${height} legend=${legend} />`;
}

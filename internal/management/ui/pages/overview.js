// The overview.
import { html } from '../lib/html.js';
import { t, num } from '../lib/i18n.js';
import { api } from '../lib/api.js';
import { useData } from '../lib/live.js';
import { Shown } from '../lib/states.js';

export function render() {
  const overview = useData((abort) => api.get('overview', {}, { signal: abort }), [], { on: ['overview'] });
  return html`<h1>${t('overview.title')}</h1>
    <${Shown} of=${overview}>${(o) => html`<p>${o.cluster_name} · ${num(o.object_totals.queues)}</p>`}</${Shown}>`;
}

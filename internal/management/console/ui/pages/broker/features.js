// Feature flags, which clients ask for, and features that RabbitMQ would rather not have.
import { html } from '../../lib/html.js';
import { t, word } from '../../lib/i18n.js';
import { api } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';

// about is what a feature is, in the user's language.
const about = (f) => {
  const text = word('feature', f.name);
  return text === f.name ? f.desc : text;
};

const name = () => ({
  key: 'name',
  title: t('queues.name'),
  always: true,
  render: (f) => html`<code class="break">${f.name}</code>`,
});
const flags = () => [
  name(),
  { key: 'desc', title: t('features.about'), value: about },
  {
    key: 'state',
    title: t('message.state'),
    value: (f) => word('feature_state', f.state),
    render: (f) =>
      html`<span class=${`tag ${f.state === 'enabled' ? 'good' : ''}`}>${word('feature_state', f.state)}</span>`,
  },
  { key: 'stability', title: t('features.stability'), value: (f) => word('feature_state', f.stability) },
];
const deprecated = () => [
  name(),
  { key: 'desc', title: t('features.about'), value: about },
  { key: 'deprecation_phase', title: t('features.phase'), value: (f) => word('feature_state', f.deprecation_phase) },
];

function List({ id, title, at, columns }) {
  const got = useData((signal) => api.get(at, {}, { signal }), [], { every: 0 });
  const source = useRows(got, columns, { prefix: `${id}.`, usual: { sort: 'name' } });
  return html`<section><h2>${title}</h2><${Table} id=${id} caption=${title} source=${source} columns=${columns} filter=${false} /></section>`;
}

export const render = () => html`<h1>${t('features.title')}</h1><p class="hint">${t('features.hint')}</p>
  <${List} id="features" title=${t('features.flags')} at="feature-flags" columns=${flags()} />
  <${List} id="deprecated" title=${t('features.deprecated')} at="deprecated-features" columns=${deprecated()} />`;

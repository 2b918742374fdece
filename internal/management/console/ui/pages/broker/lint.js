// What will lose, delay or circulate messages.
import { html } from '../../lib/html.js';
import { t, has } from '../../lib/i18n.js';
import { api } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href, setQuery } from '../../lib/router.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { within, vhost } from '../../lib/vhosts.js';
import { Severity, findingText, pageOf } from './follow.js';
import { Stat } from './parts.js';
import { lintCommand } from '../code/commands.js';
import { prefix } from '../../lib/place.js';

const weight = { error: 3, warning: 2, note: 1 };
const kindName = (kind) => (has(`kind.${kind}`) ? t(`kind.${kind}`) : kind);

const columnsOf = () => [
  {
    key: 'severity',
    title: t('lint.severity'),
    always: true,
    value: (f) => weight[f.severity],
    render: (f) => html`<${Severity} of=${f.severity} />`,
  },
  { key: 'vhost', title: t('queues.vhost'), off: !!vhost.value },
  { key: 'kind', title: t('lint.kind'), value: (f) => kindName(f.kind) },
  {
    key: 'name',
    title: t('queues.name'),
    names: true,
    render: (f) => html`<a class="name-cell" href=${pageOf(f)}>${f.name}</a>`,
  },
  {
    key: 'text',
    title: t('lint.text'),
    value: findingText,
    render: (f) => html`<span class="break">${findingText(f)}</span>`,
  },
  { key: 'code', title: t('lint.code'), off: true, render: (f) => html`<code>${f.code}</code>` },
];

export function render({ query }) {
  const severity = query.severity || '';
  const got = useData((signal) => api.get(within('x/lint'), { limit: 10000 }, { signal }), [vhost.value], {
    every: 30000,
  });
  const list = { ...got, data: got.data?.findings.filter((f) => !severity || f.severity === severity) };
  const columns = columnsOf();
  const source = useRows(list, columns, { usual: { sort: 'severity', reverse: true } });
  const sums = got.data;
  return html`<h1>${t('lint.title')}</h1><p>${t('lint.about')}</p>
    ${
      sums &&
      html`<div class="cards">${[
        ['error', sums.errors],
        ['warning', sums.warnings],
        ['note', sums.notes],
      ].map(
        ([s, n]) =>
          html`<${Stat} key=${s} value=${n} title=${t(`lint_n.${s}`, { n })} bad=${s === 'error' && n > 0} to=${href('/lint', { vhost: query.vhost, severity: severity === s ? '' : s })} />`,
      )}</div>`
    }
    ${severity && html`<p class="banner">${t('lint.only', { what: t(`lint_n.${severity}`, { n: 2 }) })} <button type="button" onClick=${() => setQuery({ severity: '' })}>${t('lint.all')}</button></p>`}
    <${Table} id="lint" caption=${t('lint.title')} source=${source} columns=${columns} keyOf=${(f) => `${f.vhost} ${f.kind} ${f.name} ${f.code}`} onOpen=${(f) => go(pageOf(f).slice(prefix.length))}
      empty=${html`<${Empty} title=${t('lint.none')} text=${t('lint.none_text')} cli=${lintCommand} />`} />`;
}

// The lists of policies: those of users, and those of operators beside them.
import { html } from '../../lib/html.js';
import { t, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href } from '../../lib/router.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { Icon } from '../../lib/icon.js';
import { attempt, confirm } from '../../lib/layers.js';
import { within, vhost, oneVHost } from '../../lib/vhosts.js';
import { Action } from '../../lib/action.js';
import { lacksTag } from '../../lib/rights.js';
import { Tabs } from './parts.js';
import { Args } from './setting-parts.js';
import { findingText } from './follow.js';
import { dropsOf, someNames } from './policy-trial.js';
import { policyCommands } from '../code/policy.js';
import { here } from '../../lib/here.js';

const editor = (p, operator) =>
  href('/policies/edit', { vhost: p.vhost, policy: p.name, operator: operator ? '1' : '' });

function columnsOf(operator, lint) {
  // what is wrong with a policy, and with queues because of it, each thing once
  const found = (p) =>
    lint.filter(
      (f, i) =>
        f.vhost === p.vhost &&
        ((f.kind === 'policy' && f.name === p.name && (f.params.which === 'operator') === operator) ||
          (f.kind !== 'policy' &&
            f.params.policy === p.name &&
            !operator &&
            i === lint.findIndex((x) => x.vhost === f.vhost && x.code === f.code && x.params.policy === p.name))),
    );
  return [
    {
      key: 'name',
      title: t('queues.name'),
      always: true,
      render: (p) => html`<a class="name-cell" href=${editor(p, operator)}>${p.name}</a>`,
    },
    { key: 'vhost', title: t('queues.vhost'), off: !!vhost.value },
    { key: 'priority', title: t('policies.priority'), align: 'end' },
    { key: 'pattern', title: t('policies.pattern'), render: (p) => html`<code class="break">${p.pattern}</code>` },
    { key: 'apply-to', title: t('policies.apply_to'), value: (p) => word('apply_to', p['apply-to']) },
    {
      key: 'definition',
      title: t('policies.definition'),
      value: (p) => JSON.stringify(p.definition),
      render: (p) => html`<${Args} of=${p.definition} />`,
    },
    {
      key: 'found',
      title: t('policies.found'),
      value: (p) => found(p).map(findingText).join(' '),
      render: (p) =>
        found(p).map(
          (f) =>
            html`<span class=${`tag ${f.severity === 'error' ? 'bad' : 'warn'}`} title=${findingText(f)}>${word('policy_finding', f.code)}</span>`,
        ),
    },
  ];
}

// removePolicy tries what taking a policy away would mean, says so, asks, and does it.
export async function removePolicy(p, operator) {
  const kind = operator ? 'operator-policies' : 'policies';
  /** @type {any} */
  let trial = null;
  await attempt(async () => {
    trial = await api.delete(`x/dry-run/${kind}/${path`${p.vhost}/${p.name}`}`);
  });
  if (!trial) return false;
  const { texts } = dropsOf(trial);
  const names = trial.matches.filter((m) => m.changes.length > 0).map((m) => m.name);
  const sure = await confirm({
    title: t('policies.delete_title', { name: p.name }),
    text: t('policies.delete_text', {
      changed: names.length,
      names: someNames(names),
    }),
    children: texts.map((text) => html`<p key=${text}>${text}</p>`),
    action: t('queues.delete'),
    danger: true,
  });
  return (
    sure && attempt(() => api.delete(`${kind}/${path`${p.vhost}/${p.name}`}`), t('policies.deleted', { name: p.name }))
  );
}

export function render({ query }) {
  const operator = query.tab === 'operator';
  const got = useData(
    (signal) => api.get(within(operator ? 'operator-policies' : 'policies'), {}, { signal }),
    [vhost.value, operator],
    { keep: false },
  );
  const lint = useData((signal) => api.get(within('x/lint'), { limit: 2000 }, { signal }), [vhost.value], {
    every: 30000,
  });
  const columns = columnsOf(operator, lint.data?.findings || []);
  const source = useRows(got, columns, { usual: { sort: 'priority', reverse: true } });
  const lacks = lacksTag(operator ? 'administrator' : 'policymaker');
  const create = html`<${Action} lacks=${lacks} href=${href('/policies/edit', { vhost: oneVHost.value, operator: operator ? '1' : '' })}><${Icon} name="plus" /> ${operator ? t('policies.create_operator') : t('policies.create')}</${Action}>`;
  const example = policyCommands(here(), {
    vhost: oneVHost.value,
    name: 'dead-letters',
    pattern: '^orders',
    definition: { 'dead-letter-exchange': 'graves', 'message-ttl': 3600000 },
    priority: 1,
    applyTo: 'queues',
    operator,
  });
  return html`<div class="page-head"><h1>${t('policies.title')}</h1>${create}</div>
    <${Tabs} label=${t('policies.title')} at=${operator ? 'operator' : 'user'} tabs=${[
      ['user', t('policies.of_users')],
      ['operator', t('policies.of_operators')],
    ]} />
    ${operator && html`<p class="hint">${t('policies.operator_text')}</p>`}
    <${Table} id=${operator ? 'operator-policies' : 'policies'} caption=${operator ? t('policies.of_operators') : t('policies.of_users')} source=${source} columns=${columns} keyOf=${(p) => `${p.name} · ${p.vhost}`}
      onOpen=${(p) => go('/policies/edit', { vhost: p.vhost, policy: p.name, operator: operator ? '1' : '' })}
      empty=${html`<${Empty} title=${t('policies.none')} text=${t('policies.none_text')} cli=${example.ctl} docs="retries-and-limits.md">${create}</${Empty}>`} />`;
}

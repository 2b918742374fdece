// One exchange: what is bound to it, who it is bound to, and where a message would go.
import { html, useMemo, useState } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href, up } from '../../lib/router.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty, NoPermissions, Shown } from '../../lib/states.js';
import { Icon } from '../../lib/icon.js';
import { TextField, TextArea } from '../../lib/form.js';
import { ExchangeLink, QueueLink, Rate, Stat, exchangeName, parseObject, rateOf } from './parts.js';
import { Args } from './setting-parts.js';
import { ExchangeBadges, removeExchanges } from './exchanges.js';
import { bind, lacksToBind, publishTo, unbind } from './queue-dialogs.js';
import { rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { bindCode } from '../code/clients.js';
import { boundNow } from './bound-now.js';
import { follow } from './routing.js';
import { Way } from './graph-view.js';

const columnsOf = (outward, gone) =>
  [
    outward
      ? {
          key: 'destination',
          title: t('bind.target'),
          always: true,
          render: (b) =>
            html`${b.destination_type === 'queue' ? html`<${QueueLink} vhost=${b.vhost} name=${b.destination} />` : html`<${ExchangeLink} vhost=${b.vhost} name=${b.destination} />`}`,
        }
      : {
          key: 'source',
          title: t('bind.from'),
          always: true,
          render: (b) => html`<${ExchangeLink} vhost=${b.vhost} name=${b.source} />`,
        },
    outward && { key: 'destination_type', title: t('bind.kind'), value: (b) => t(`bind.${b.destination_type}`) },
    {
      key: 'routing_key',
      title: t('publish.key'),
      names: true,
      render: (b) => html`<code class="break">${b.routing_key}</code>`,
    },
    {
      key: 'arguments',
      title: t('bind.arguments'),
      value: (b) => JSON.stringify(b.arguments),
      render: (b) => html`<${Args} of=${b.arguments} />`,
    },
    {
      key: 'do',
      title: t('bind.remove'),
      sort: false,
      value: () => '',
      render: (b) =>
        b.source === ''
          ? html`<span class="faint">${t('bind.implicit')}</span>`
          : html`<${Action} className="small" lacks=${lacksToBind(b)} onClick=${() => unbind(b).then(gone)}>${t('bind.remove')}</${Action}>`,
    },
  ].filter(Boolean);

function Bound({ vhost, exchange, outward }) {
  const name = exchangeName(exchange.name);
  const got = useData(
    (signal) =>
      api.get(path`exchanges/${vhost}/${name}/bindings/${outward ? 'source' : 'destination'}`, {}, { signal }),
    [vhost, name, outward],
  );
  const columns = columnsOf(outward, (done) => done && got.refresh());
  const source = useRows(got, columns, { prefix: outward ? 'o.' : 'i.' });
  const add = () =>
    bind(
      outward ? { vhost, source: exchange.name } : { vhost, target: { type: 'exchange', name: exchange.name } },
    ).then((done) => done && got.refresh());
  if (!outward && source.known && source.total === 0) return null;
  const lacks = rightsIn(vhost).exchange(outward ? 'read' : 'write', exchange.name);
  const adds = html`<${Action} lacks=${lacks} onClick=${add}>${t('bind.title')}</${Action}>`;
  return html`<section><h2>${outward ? t('exchange.outward') : t('exchange.inward')}</h2>
    <${Table} id=${outward ? 'bindings-out' : 'bindings-in'} caption=${outward ? t('exchange.outward') : t('exchange.inward')} source=${source} columns=${columns} keyOf=${(b) => `${b.source} ${b.destination} ${b.properties_key}`}
      actions=${() => exchange.name !== '' && adds}
      empty=${html`<${Empty} title=${t('exchange.unbound')} text=${t(exchange.type === 'x-delayed-message' ? 'exchange.unbound_delayed_text' : 'exchange.unbound_text')} code=${bindCode({ queue: 'orders', exchange: exchange.name, key: 'orders' })}>${adds}</${Empty}>`} /></section>`;
}

// Tester asks where a message with a key and headers would go, by what is bound now.
function Tester({ vhost, name }) {
  const [key, setKey] = useState('');
  const [headers, setHeaders] = useState('');
  const [on, turn] = useState(false);
  const got = useData((signal) => boundNow(vhost, signal), [vhost], { enabled: on, every: 15000 });
  const h = parseObject(headers, t('publish.headers'));
  const way = useMemo(
    () => (got.data ? follow(got.data, name, key, h.value || {}) : null),
    [got.data, name, key, headers],
  );
  return html`<section class="card"><h2>${t('route.title')}</h2>
    <div class="form"><${TextField} label=${t('publish.key')} value=${key} onInput=${(v) => {
      turn(true);
      setKey(v);
    }} onFocus=${() => turn(true)} />
      <${TextArea} rows="2" label=${t('publish.headers')} hint=${t('publish.headers_hint')} error=${h.error} value=${headers} onInput=${(
        v,
      ) => {
        turn(true);
        setHeaders(v);
      }} /></div>
    <div role="status">${
      way &&
      html`
      ${way.queues.length ? html`<p>${t('route.to', { n: way.queues.length })}</p><ul>${way.queues.map((q) => html`<li key=${q.name}><${QueueLink} vhost=${vhost} name=${q.name} /> ${!q.sure && html`<span class="tag">${t('paths.unsure')}</span>`}</li>`)}</ul>` : html`<p class="banner warn"><${Icon} name="warning" /> ${t('route.nowhere')}</p>`}
      <ol>${way.steps.map((s) => html`<li key=${s.exchange}><${ExchangeLink} vhost=${vhost} name=${s.exchange} /> ${s.missing ? html`<span class="tag bad">${t('route.missing')}</span>` : html`<span class="tag">${s.type}</span>`} ${s.alternate && html`<span class="tag">${t('setting.alternate-exchange')}</span>`} ${s.delayed && html`<span class="tag">${t('route.waits')}</span>`} ${t('route.fits', { n: s.bindings.length })}</li>`)}</ol>`
    }</div>
    <p class="hint">${t('route.hint')}</p></section>`;
}

export function render({ params: { vhost, name: shown } }) {
  const got = useData((signal) => api.get(path`exchanges/${vhost}/${shown}`, {}, { signal }), [vhost, shown], {
    on: ['queues'],
  });
  const e = got.data;
  const own = e && e.name !== '' && !e.name.startsWith('amq.');
  return html`<p class="crumbs"><a href=${up('/exchanges', { vhost })}>${t('exchanges.title')}</a> <span aria-hidden="true">›</span> ${vhost}</p>
    <div class="page-head"><h1>${shown === 'amq.default' ? t('exchange.default') : shown}</h1>
      ${
        e &&
        html`<span class="buttons"><${Action} lacks=${rightsIn(vhost).exchange('write', e.name)} disabled=${e.internal} onClick=${() => publishTo({ vhost, exchange: e.name, fixed: true })}>${t('publish.do')}</${Action}>
        <a class="button" href=${href('/topology', { vhost, root: `e:${e.name}` })}>${t('topology.title')}</a>
        ${own && html`<${Action} lacks=${rightsIn(vhost).exchange('configure', e.name)} onClick=${() => removeExchanges([e]).then((done) => done && go('/exchanges', { vhost }))}><${Icon} name="discard" /> ${t('queues.delete')}</${Action}>`}</span>`
      }</div>
    <${NoPermissions} vhost=${vhost} /><${Shown} of=${got}>${(d) => html`
      <div class="cards"><${Stat} title=${t('queues.in')} value=${rateOf(d, 'publish_in') === undefined ? '–' : html`<${Rate} of=${d} name="publish_in" />`} />
        <${Stat} title=${t('queues.out')} value=${rateOf(d, 'publish_out') === undefined ? '–' : html`<${Rate} of=${d} name="publish_out" />`} />
        ${d.messages_delayed !== undefined && html`<${Stat} title=${t('exchange.scheduled')} value=${num(d.messages_delayed)} to=${href('/schedule', { vhost, exchange: d.name })} />`}</div>
      <section class="card"><h2>${t('queue.about')}</h2><dl class="pairs"><dt>${t('queues.type')}</dt><dd>${d.type}</dd><dt>${t('queues.features')}</dt><dd><${ExchangeBadges} exchange=${d} /></dd>
        <dt>${t('queue.arguments')}</dt><dd><${Args} of=${d.arguments} /></dd></dl>
        ${d.name === '' ? html`<p>${t('exchange.default_text')}</p>` : html`<${Way} vhost=${vhost} root=${`e:${d.name}`} />`}</section>
      <${Tester} vhost=${vhost} name=${d.name} />
      ${d.name !== '' && html`<${Bound} vhost=${vhost} exchange=${d} outward=${true} /><${Bound} vhost=${vhost} exchange=${d} outward=${false} />`}`}</${Shown}>`;
}

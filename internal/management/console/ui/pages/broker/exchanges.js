// The list of exchanges.
import { html, useState } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { go, to, useKept } from '../../lib/router.js';
import { api, path } from '../../lib/api.js';
import { useServerList } from '../../lib/list.js';
import { useData } from '../../lib/live.js';
import { Table } from '../../lib/table.js';
import { Icon } from '../../lib/icon.js';
import { Cancel, Dialog, attempt, confirm, open } from '../../lib/layers.js';
import { Check, Select, TextArea, TextField } from '../../lib/form.js';
import { within, vhost, vhosts, oneVHost } from '../../lib/vhosts.js';
import { first, rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { ExchangeLink, Rate, exchangeName, parseObject, rateOf } from './parts.js';
import { BadgeList, policyBadges } from './setting-parts.js';
import { nameTrouble } from './queue-name.js';

// ExchangeBadges are an exchange's properties in a few characters.
export function ExchangeBadges({ exchange: e }) {
  const { 'alternate-exchange': alternate, 'x-delayed-type': delayed } = e.arguments || {};
  const badges = [
    e.durable && { code: 'D', text: t('setting.durable') },
    e.auto_delete && { code: 'AD', text: t('exchange.auto_delete') },
    e.internal && { code: 'I', text: t('exchange.internal') },
    alternate !== undefined && {
      code: 'AE',
      text: t('frame.pair', { name: t('setting.alternate-exchange'), value: alternate || t('exchange.default') }),
    },
    delayed && { code: 'DM', text: t('exchange.delayed', { type: delayed }) },
    ...policyBadges(e),
  ];
  return html`<${BadgeList} badges=${badges.filter(Boolean)} />`;
}

const columnsOf = () => {
  const speed = (name, title) => ({
    key: `message_stats.${name}_details.rate`,
    title,
    align: 'end',
    value: (e) => rateOf(e, name),
    render: (e) => html`<${Rate} of=${e} name=${name} />`,
  });
  return [
    {
      key: 'name',
      title: t('queues.name'),
      always: true,
      render: (e) => html`<span class="name-cell"><${ExchangeLink} vhost=${e.vhost} name=${e.name} /></span>`,
    },
    { key: 'vhost', title: t('queues.vhost'), off: !!vhost.value },
    { key: 'type', title: t('queues.type') },
    {
      key: 'features',
      title: t('queues.features'),
      sort: false, // as for queues
      value: (e) => JSON.stringify(e.arguments),
      render: (e) => html`<${ExchangeBadges} exchange=${e} />`,
    },
    {
      key: 'messages_delayed',
      title: t('exchange.scheduled'),
      align: 'end',
      value: (e) => e.messages_delayed ?? null,
      render: (e) => (e.messages_delayed === undefined ? html`<span class="faint">–</span>` : num(e.messages_delayed)),
    },
    speed('publish_in', t('queues.in')),
    speed('publish_out', t('queues.out')),
  ];
};

// removeExchanges asks, and deletes; what waits in delayed ones waits on without them.
export async function removeExchanges(all) {
  const waiting = all.reduce((n, e) => n + (e.messages_delayed || 0), 0);
  const sure = await confirm({
    title: t('exchange.delete_title', { n: all.length, name: all[0].name }),
    text: t('exchange.delete_text', { names: all.map((e) => e.name).join(t('frame.comma')), n: waiting }),
    action: t('queues.delete'),
    danger: true,
  });
  return (
    sure &&
    attempt(
      async () => {
        for (const e of all) await api.delete(path`exchanges/${e.vhost}/${e.name}`);
      },
      t('exchange.deleted', { n: all.length }),
    )
  );
}

export function render() {
  const picked = useKept('selection', new Set());
  const columns = columnsOf();
  const source = useServerList(within('exchanges'), { columns, usual: { sort: 'name' }, on: ['queues'] });
  return html`<div class="page-head"><h1>${t('exchanges.title')}</h1>
      <${Action} lacks=${rightsIn(oneVHost.value).any('configure')} onClick=${() => createExchange()}><${Icon} name="plus" /> ${t('exchange.create')}</${Action}></div>
    <${Table} id="exchanges" caption=${t('exchanges.title')} source=${source} columns=${columns} keyOf=${(e) => `${e.name || 'amq.default'} · ${e.vhost}`} selection=${picked}
      onOpen=${(e) => go(to`/exchanges/${e.vhost}/${exchangeName(e.name)}`)}
      actions=${(rows) =>
        rows.length > 0 &&
        html`<${Action} lacks=${first(...rows.map((e) => rightsIn(e.vhost).exchange('configure', e.name)))} disabled=${rows.some((e) => e.name === '' || e.name.startsWith('amq.'))} onClick=${() =>
          removeExchanges(rows).then((done) => {
            if (done) {
              picked[1](new Set());
              source.refresh();
            }
          })}><${Icon} name="discard" /> ${t('queues.delete')}</${Action}>`} />`;
}

// newExchange asks for what an exchange shall be, and declares it: {vhost, name}, undefined if it is not. of are values to begin with.
export const newExchange = (/** @type {{vhost?: string, name?: string, type?: string}} */ of = {}) =>
  open(Create, { of });

// createExchange is newExchange, and shows it.
export const createExchange = (/** @type {{type?: string}} */ of = {}) =>
  newExchange(of).then((e) => e && go(to`/exchanges/${e.vhost}/${e.name}`));

function Create({ close, of }) {
  const [f, set] = useState({
    vhost: oneVHost.value,
    name: '',
    type: 'direct',
    delayed: 'direct',
    durable: true,
    auto_delete: false,
    internal: false,
    alternate: '',
    more: '',
    ...of,
  });
  const others = useData(
    (signal) => api.get(path`exchanges/${f.vhost}`, { columns: 'name', disable_stats: true }, { signal }),
    [f.vhost],
    { every: 0 },
  );
  const overview = useData(
    (signal) => api.get('overview', { columns: 'exchange_types', disable_stats: true }, { signal }),
    [],
    { every: 0 },
  );
  const types = (overview.data?.exchange_types || [{ name: f.type }]).map((x) => x.name);
  const put = (name) => (v) => set({ ...f, [name]: v });
  const more = parseObject(f.more, t('setting.arguments'));
  const trouble = nameTrouble(f.name);
  const submit = async (e) => {
    e.preventDefault();
    if (trouble || more.error) return;
    const args = { ...more.value };
    if (f.type === 'x-delayed-message') args['x-delayed-type'] = f.delayed;
    if (f.alternate) args['alternate-exchange'] = f.alternate;
    if (
      await attempt(
        () =>
          api.put(path`exchanges/${f.vhost}/${f.name}`, {
            type: f.type,
            durable: f.durable,
            auto_delete: f.auto_delete,
            internal: f.internal,
            arguments: args,
          }),
        t('exchange.created', { name: f.name }),
      )
    )
      close(f);
  };
  return html`<${Dialog} title=${t('exchange.create')} close=${() => close()} actions=${html`<${Cancel} /><${Action} type="submit" form="exchange" className="primary" lacks=${first(trouble && t(trouble), more.error)}>${t('create.do')}</${Action}>`}>
    <form id="exchange" class="form" onSubmit=${submit}>
      <${TextField} label=${t('queues.name')} value=${f.name} onInput=${put('name')} autofocus required error=${f.name && trouble ? t(trouble) : undefined} />
      <${Select} label=${t('queues.vhost')} value=${f.vhost} onInput=${put('vhost')} options=${vhosts.value} />
      <${Select} label=${t('queues.type')} value=${f.type} onInput=${put('type')} options=${types} />
      ${f.type === 'x-delayed-message' && html`<${Select} label=${t('exchange.routes_as')} value=${f.delayed} onInput=${put('delayed')} options=${types.filter((x) => x !== 'x-delayed-message')} />`}
      <${TextField} label=${t('setting.alternate-exchange')} hint=${t('exchange.alternate_hint')} value=${f.alternate} onInput=${put('alternate')} list=${(others.data || []).map((e) => e.name).filter(Boolean)} />
      <div><${Check} label=${t('setting.durable')} value=${f.durable} onInput=${put('durable')} /><${Check} label=${t('exchange.auto_delete')} value=${f.auto_delete} onInput=${put('auto_delete')} />
        <${Check} label=${t('exchange.internal')} value=${f.internal} onInput=${put('internal')} /></div>
      <${TextArea} className="whole" rows="3" label=${t('setting.arguments')} hint=${t('publish.headers_hint')} error=${more.error} value=${f.more} onInput=${put('more')} />
    </form></${Dialog}>`;
}

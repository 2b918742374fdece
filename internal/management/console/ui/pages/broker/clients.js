// What clients have opened: connections, channels, consumers. Three lists with the same links above them.
import { html, useState } from '../../lib/html.js';
import { t, num, size, word, span } from '../../lib/i18n.js';
import { href, useKept } from '../../lib/router.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { useServerList } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty, Shown } from '../../lib/states.js';
import { Ago } from '../../lib/time.js';
import { Code } from '../../lib/code.js';
import { Cancel, Dialog, attempt, open } from '../../lib/layers.js';
import { TextField } from '../../lib/form.js';
import { first, lacksOwner } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { oneVHost, vhost, within } from '../../lib/vhosts.js';
import { useHere } from '../../lib/here.js';
import { connectCode } from '../code/clients.js';
import { QueueLink, Rate, rateOf, yesNo } from './parts.js';
import { Args } from './setting-parts.js';

// ofVHost is the path of connections or channels of the chosen virtual host.
const ofVHost = (list) => (vhost.value ? `vhosts/${path`${vhost.value}`}/${list}` : list);

// State is the state of a connection or a channel; one that is blocked stands out, in words too.
function State({ of }) {
  return html`<span class=${`tag ${/^block/.test(of) ? 'bad' : of === 'flow' ? 'warn' : ''}`}>${word('client_state', of)}</span>`;
}

const client = (c) => {
  const p = c.client_properties || {};
  return [p.product, p.version, p.platform].filter((x) => typeof x === 'string').join(' ');
};

const connectionColumns = () => [
  {
    key: 'name',
    title: t('connections.name'),
    always: true,
    render: (c) =>
      html`<button type="button" class="plain name-cell" onClick=${() => open(Connection, { name: c.name })}>${c.user_provided_name || c.name.replace(' -> ', ' → ')}</button>`,
  },
  { key: 'peer', title: t('connections.peer'), off: true, sort: 'name', value: (c) => c.name },
  { key: 'vhost', title: t('queues.vhost'), off: !!vhost.value },
  { key: 'user', title: t('consumers.user') },
  { key: 'state', title: t('message.state'), render: (c) => html`<${State} of=${c.state} />` },
  { key: 'client', title: t('connections.client'), sort: 'client_properties.product', value: client },
  {
    key: 'ssl',
    title: t('connections.tls'),
    value: (c) => (c.ssl ? c.ssl_protocol || t('frame_words.yes') : t('frame_words.no')),
  },
  { key: 'channels', title: t('channels.title'), align: 'end' },
  {
    key: 'recv_oct_details.rate',
    title: t('connections.from'),
    align: 'end',
    value: (c) => c.recv_oct_details?.rate,
    render: (c) => t('connections.rate', { size: size(c.recv_oct_details?.rate ?? 0) }),
  },
  {
    key: 'send_oct_details.rate',
    title: t('connections.to'),
    align: 'end',
    value: (c) => c.send_oct_details?.rate,
    render: (c) => t('connections.rate', { size: size(c.send_oct_details?.rate ?? 0) }),
  },
  { key: 'timeout', title: t('connections.heartbeat'), align: 'end', off: true, render: (c) => span(c.timeout * 1000) },
  {
    key: 'connected_at',
    title: t('connections.since'),
    align: 'end',
    render: (c) => html`<${Ago} at=${c.connected_at} />`,
  },
];

export function renderConnections() {
  const at = useHere();
  const picked = useKept('selection', new Set());
  const columns = connectionColumns();
  const source = useServerList(ofVHost('connections'), { columns, usual: { sort: 'name' }, on: ['overview'] });
  return html`<h1>${t('connections.title')}</h1>
    <${Table} id="connections" caption=${t('connections.title')} source=${source} columns=${columns} keyOf=${(c) => c.name} selection=${picked} onOpen=${(c) => open(Connection, { name: c.name })}
      actions=${(rows) =>
        rows.length > 0 &&
        html`<${Action} lacks=${first(...rows.map((c) => lacksOwner(c.user)))} onClick=${() =>
          open(Close, { names: rows.map((c) => c.name) }).then((done) => {
            if (done) {
              picked[1](new Set());
              source.refresh();
            }
          })}>${t('connections.close')}</${Action}>`}
      empty=${html`<${Empty} title=${t('connections.none')} text=${t('connections.none_text')} code=${connectCode(at, oneVHost.value)} />`} />`;
}

function Close({ close, names }) {
  const [reason, say] = useState('');
  const submit = async (e) => {
    e.preventDefault();
    const done = await attempt(
      async () => {
        for (const name of names)
          await api.delete(
            path`connections/${name}`,
            {},
            { headers: reason ? { 'X-Reason': reason.replace(/[^\x20-\x7e]/g, '?') } : {} },
          );
      },
      t('connections.closed', { n: names.length }),
    );
    if (done) close(true);
  };
  return html`<${Dialog} title=${t('connections.close_title', { n: names.length })} close=${() => close(false)} actions=${html`<${Cancel} /><button type="submit" form="close" class="danger">${t('connections.close')}</button>`}>
    <form id="close" onSubmit=${submit}><p>${t('connections.close_text')}</p><${TextField} label=${t('connections.reason')} hint=${t('connections.reason_hint')} value=${reason} onInput=${say} autofocus /></form>
  </${Dialog}>`;
}

// consumingMax is of how many channels the queues are shown that they consume.
const consumingMax = 20;

function Connection({ close, name }) {
  const got = useData(
    async (signal) => {
      const [c, channels] = await Promise.all([
        api.get(path`connections/${name}`, {}, { signal }),
        api.get(path`connections/${name}/channels`, {}, { signal }),
      ]);
      const consuming = channels.filter((ch) => ch.consumer_count > 0).slice(0, consumingMax);
      const details = await Promise.all(consuming.map((ch) => api.get(path`channels/${ch.name}`, {}, { signal })));
      return {
        c,
        channels,
        queues: new Map(details.map((ch) => [ch.name, [...new Set(ch.consumer_details.map((x) => x.queue.name))]])),
      };
    },
    [name],
  );
  return html`<${Dialog} title=${name} close=${close} wide actions=${html`<${Action} className="danger" lacks=${got.data ? lacksOwner(got.data.c.user) : ''} onClick=${() => open(Close, { names: [name] }).then((done) => done && close())}>${t('connections.close')}</${Action}><button type="button" onClick=${() => close()}>${t('frame.close')}</button>`}>
    <${Shown} of=${got}>${({ c, channels, queues }) => html`<dl class="pairs">
      <dt>${t('message.state')}</dt><dd><${State} of=${c.state} /></dd><dt>${t('consumers.user')}</dt><dd>${c.user}</dd><dt>${t('queues.vhost')}</dt><dd>${c.vhost}</dd>
      <dt>${t('connections.protocol')}</dt><dd>${c.protocol} · ${c.auth_mechanism}</dd><dt>${t('connections.since')}</dt><dd><${Ago} at=${c.connected_at} /></dd>
      <dt>${t('connections.heartbeat')}</dt><dd>${span(c.timeout * 1000)}</dd><dt>${t('connections.frame')}</dt><dd>${size(c.frame_max)}</dd>
      <dt>${t('connections.tls')}</dt><dd>${c.ssl ? [c.ssl_protocol, c.ssl_cipher, c.peer_cert_subject].filter(Boolean).join(' · ') : t('frame_words.no')}</dd>
      <dt>${t('connections.from')}</dt><dd>${size(c.recv_oct)}</dd><dt>${t('connections.to')}</dt><dd>${size(c.send_oct)}</dd></dl>
      <h3>${t('channels.title')}</h3>
      ${channels.length === 0 ? html`<p class="hint">${t('connections.no_channel')}</p>` : html`<ul>${channels.map((ch) => html`<li key=${ch.name}>${t('channels.line', { number: ch.number, consumers: num(ch.consumer_count), unacked: num(ch.messages_unacknowledged), prefetch: num(ch.prefetch_count) })} <${State} of=${ch.state} />${(queues.get(ch.name) || []).map((q) => html` ← <${QueueLink} vhost=${ch.vhost} name=${q} />`)}</li>`)}</ul>`}
      <h3>${t('connections.client')}</h3><${Code} text=${JSON.stringify(c.client_properties, null, 2)} label=${t('connections.client')} />`}</${Shown}>
  </${Dialog}>`;
}

const mode = (c) => (c.transactional ? t('channels.tx') : c.confirm ? t('channels.confirm') : '');
const channelColumns = () => {
  const speed = (name, title) => ({
    key: `message_stats.${name}_details.rate`,
    title,
    align: 'end',
    value: (c) => rateOf(c, name),
    render: (c) => html`<${Rate} of=${c} name=${name} />`,
  });
  return [
    {
      key: 'name',
      title: t('consumers.channel'),
      always: true,
      render: (c) =>
        html`<button type="button" class="plain name-cell" onClick=${() => open(Connection, { name: c.connection_details.name })}>${c.name.replace(' -> ', ' → ')}</button>`,
    },
    { key: 'vhost', title: t('queues.vhost'), off: !!vhost.value },
    { key: 'user', title: t('consumers.user') },
    { key: 'mode', title: t('channels.mode'), sort: 'confirm', value: mode },
    { key: 'state', title: t('message.state'), render: (c) => html`<${State} of=${c.state} />` },
    { key: 'consumer_count', title: t('queues.consumers'), align: 'end' },
    {
      key: 'prefetch_count',
      title: t('consumers.prefetch'),
      align: 'end',
      render: (c) =>
        c.prefetch_count === 0 && c.consumer_count > 0
          ? html`<span class="tag warn" title=${t('channels.no_prefetch')}>∞<span class="hidden"> ${t('channels.no_prefetch')}</span></span>`
          : num(c.prefetch_count),
    },
    { key: 'messages_unacknowledged', title: t('queues.unacked'), align: 'end' },
    { key: 'messages_unconfirmed', title: t('channels.unconfirmed'), align: 'end' },
    speed('publish', t('queues.in')),
    speed('deliver_get', t('queues.out')),
    { ...speed('ack', t('queues.acked')), off: innerWidth < 1250 },
  ];
};

export function renderChannels() {
  const columns = channelColumns();
  const source = useServerList(ofVHost('channels'), { columns, usual: { sort: 'name' }, on: ['overview'] });
  return html`<h1>${t('channels.title')}</h1>
    <${Table} id="channels" caption=${t('channels.title')} source=${source} columns=${columns} keyOf=${(c) => c.name} onOpen=${(c) => open(Connection, { name: c.connection_details.name })}
      empty=${html`<${Empty} title=${t('channels.none')} text=${t('channels.none_text')} />`} />`;
}

const consumerColumns = () => [
  {
    key: 'queue.name',
    title: t('queue.title'),
    always: true,
    value: (c) => c.queue.name,
    render: (c) => html`<${QueueLink} vhost=${c.queue.vhost} name=${c.queue.name} />`,
  },
  { key: 'queue.vhost', title: t('queues.vhost'), off: !!vhost.value, value: (c) => c.queue.vhost },
  { key: 'consumer_tag', title: t('consumers.tag'), render: (c) => html`<span class="break">${c.consumer_tag}</span>` },
  { key: 'channel_details.user', title: t('consumers.user'), value: (c) => c.channel_details.user },
  {
    key: 'channel_details.name',
    title: t('consumers.channel'),
    value: (c) => c.channel_details.name,
    render: (c) =>
      html`<a class="break" href=${href('/channels', { name: c.channel_details.name })}>${c.channel_details.name}</a>`,
  },
  { key: 'ack_required', title: t('consumers.ack'), value: (c) => yesNo(c.ack_required) },
  { key: 'prefetch_count', title: t('consumers.prefetch'), align: 'end' },
  { key: 'exclusive', title: t('consumers.exclusive'), value: (c) => yesNo(c.exclusive), off: true },
  { key: 'activity_status', title: t('consumers.status'), value: (c) => word('activity', c.activity_status) },
  {
    key: 'consumer_timeout',
    title: t('setting.consumer-timeout'),
    align: 'end',
    off: true,
    render: (c) => span(c.consumer_timeout),
  },
  {
    key: 'arguments',
    title: t('queue.arguments'),
    sort: false, // tables, which the API does not order
    off: true,
    value: (c) => JSON.stringify(c.arguments),
    render: (c) => html`<${Args} of=${c.arguments} />`,
  },
];

export function renderConsumers() {
  const columns = consumerColumns();
  const source = useServerList(within('consumers'), { columns, usual: { sort: 'queue.name' }, on: ['queues'] });
  return html`<h1>${t('consumers.title')}</h1>
    <${Table} id="consumers" caption=${t('consumers.title')} source=${source} columns=${columns} keyOf=${(c) => `${c.consumer_tag} ${c.channel_details.name}`}
      empty=${html`<${Empty} title=${t('consumers.nobody')} text=${t('consumers.none_text')} />`} />`;
}

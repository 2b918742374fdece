// What is done to a queue or an exchange in a dialog: publish, get, purge, delete, bind.
import { html, useState } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { Cancel, Dialog, attempt, confirm, keep, open, refuse, toast } from '../../lib/layers.js';
import { Check, NumberField, Select, TextArea, TextField } from '../../lib/form.js';
import { Duration } from '../../lib/duration-fields.js';
import { Code } from '../../lib/code.js';
import { Commands } from '../../lib/states.js';
import { here } from '../../lib/here.js';
import { bindCommands, deleteCommands, publishCommands, purgeCommands } from '../code/commands.js';
import { first, rightsIn } from '../../lib/rights.js';
import { vhosts } from '../../lib/vhosts.js';
import { NameField } from '../messages/name-field.js';
import { withoutQueue } from './bound-now.js';
import { isBase64 } from './json-fault.js';
import { exchangeName, parseObject } from './parts.js';

// publishTo opens the dialog that publishes: {vhost, exchange, routingKey, fixed, later}. Without fixed the virtual host and the exchange
// are asked for; later is a delay in ms, for a message that shall wait.
export const publishTo = (props) => open(Publish, props);

const usualDelay = 600_000; // ms
const longestDelay = 3650 * 864e5; // ms. Source: WaitMax in the broker's settings

// scheduleIn opens it for a message that waits: in a delayed exchange, if the virtual host has one.
export async function scheduleIn(vhost) {
  const all = await api.get(`x/scheduled/${path`${vhost}`}`).catch(() => null);
  const exchange = all?.exchanges?.find((s) => !s.orphan)?.exchange ?? '';
  return open(Publish, { vhost, exchange, later: usualDelay });
}

function Publish({ close, vhost: first, exchange, routingKey = '', fixed, later = null }) {
  const [vhost, setVHost] = useState(first);
  const [f, set] = useState({
    exchange,
    key: routingKey,
    payload: '',
    encoding: 'string',
    headers: '',
    properties: '',
    persistent: true,
    type: '',
    id: '',
    expiration: null,
    delay: later,
    scheduleKey: '',
    priority: null,
  });
  const [said, say] = useState(null);
  const put = (name) => (v) => {
    set({ ...f, [name]: v });
    say(null);
  };
  const headers = parseObject(f.headers, t('publish.headers'));
  const more = parseObject(f.properties, t('publish.properties'));
  const payloadError = f.encoding === 'base64' && !isBase64(f.payload) ? t('publish.bad_base64') : undefined;
  const wrong = payloadError ?? headers.error ?? more.error;
  const about = useData(
    (signal) => api.get(path`exchanges/${vhost}/${exchangeName(f.exchange)}`, { columns: 'type' }, { signal }),
    [vhost, f.exchange],
    { every: 0, keep: false },
  );
  const delayed = about.data?.type === 'x-delayed-message';
  const bodyOf = () => {
    const properties = { ...more.value, delivery_mode: f.persistent ? 2 : 1 };
    const table = { ...headers.value };
    if ((f.delay ?? null) !== null)
      Object.assign(table, delayed ? { 'x-delay': f.delay } : { 'x-opt-delivery-time': Date.now() + f.delay });
    if (delayed && f.scheduleKey) table['x-schedule-key'] = f.scheduleKey;
    if (Object.keys(table).length) properties.headers = table;
    if (f.type) properties.content_type = f.type;
    if (f.id) properties.message_id = f.id;
    if ((f.expiration ?? null) !== null) properties.expiration = String(f.expiration);
    if (f.priority !== null) properties.priority = f.priority;
    return { properties, routing_key: f.key, payload: f.payload, payload_encoding: f.encoding };
  };
  // goesAllTheSame tells whether a queue would get it now, or the user wants it to be scheduled without one.
  const goesAllTheSame = async () => {
    const lost = await withoutQueue([{ vhost, exchange: f.exchange, ...bodyOf() }]);
    if (!lost.length) return true;
    return confirm({
      title: t('publish.no_queue'),
      text: t(delayed ? 'publish.lost_later' : 'publish.dropped_now', {
        exchange: exchangeName(f.exchange),
        key: f.key,
      }),
      action: t('publish.do_all_the_same'),
    });
  };
  const submit = async (e) => {
    e.preventDefault();
    if (wrong) return say({ text: wrong });
    say(null);
    if ((f.delay ?? null) !== null && !(await goesAllTheSame())) return;
    try {
      const answer = await api.post(path`exchanges/${vhost}/${exchangeName(f.exchange)}/publish`, bodyOf());
      keep();
      say(
        answer.scheduled?.length
          ? { good: true, text: t('publish.scheduled', { ids: answer.scheduled.join(t('frame.comma')) }) }
          : answer.routed
            ? { good: true, text: t('publish.routed') }
            : { text: t('publish.not_routed') },
      );
    } catch (error) {
      if (error.reason === 'exchange_not_found') error.reason = t('publish.no_exchange', { name: f.exchange, vhost });
      refuse(error);
    }
  };
  const delay = html`<${Duration} label=${t('publish.deliver_after')} hint=${t(delayed ? 'publish.waits_in_exchange' : 'publish.waits_in_queue')} value=${f.delay} onInput=${put('delay')} max=${longestDelay} required=${later !== null} />`;
  const exchangeField = {
    label: t('publish.exchange'),
    value: f.exchange,
    onInput: put('exchange'),
    hint: f.exchange === '' ? t('publish.default_hint') : undefined,
  };
  return html`<${Dialog} title=${t(later === null ? 'publish.title' : 'publish.schedule_title')} close=${() => close()} wide actions=${html`
    <div class="outcome" role="status">${said && html`<p class=${`banner ${said.good ? 'good' : 'bad'}`}>${said.text}</p>`}</div>
    <${Cancel}>${t('frame.close')}</${Cancel}><button type="submit" form="publish" class="primary">${t('publish.do')}</button>`}>
    <form id="publish" class="form" onSubmit=${submit}>
      ${!fixed && vhosts.value.length > 1 && html`<${Select} label=${t('queues.vhost')} value=${vhost} onInput=${setVHost} options=${vhosts.value} />`}
      ${fixed ? html`<${TextField} ...${exchangeField} readonly />` : html`<${NameField} ...${exchangeField} vhost=${vhost} of="exchanges" autofocus=${!routingKey} />`}
      <${TextField} label=${t('publish.key')} value=${f.key} onInput=${put('key')} autofocus=${fixed && !routingKey} />
      ${later !== null && delay}
      <${TextArea} className="whole" label=${t('publish.payload')} hint=${t('publish.keys_hint')} error=${payloadError} value=${f.payload} onInput=${put('payload')} rows="6" autofocus=${!!routingKey} />
      <${TextField} label=${t('publish.content_type')} value=${f.type} onInput=${put('type')} list=${['application/json', 'text/plain', 'application/octet-stream']} />
      <${TextField} label=${t('publish.message_id')} value=${f.id} onInput=${put('id')} />
      <${Duration} label=${t('publish.expiration')} value=${f.expiration} onInput=${put('expiration')} />
      ${later === null && delay}
      <${TextField} label=${t('publish.schedule_key')} hint=${t(delayed ? 'publish.schedule_key_hint' : 'publish.schedule_key_none')} maxlength="255" readonly=${about.data && !delayed} value=${f.scheduleKey} onInput=${put('scheduleKey')} />
      <${NumberField} label=${t('publish.priority')} min="0" max="255" value=${f.priority} onInput=${put('priority')} />
      <${Select} label=${t('publish.encoding')} value=${f.encoding} onInput=${put('encoding')} options=${[
        ['string', t('publish.encoding_string')],
        ['base64', t('publish.encoding_base64')],
      ]} />
      <${Check} label=${t('publish.persistent')} value=${f.persistent} onInput=${put('persistent')} />
      <${TextArea} className="whole" label=${t('publish.headers')} hint=${t('publish.headers_hint')} error=${headers.error} value=${f.headers} onInput=${put('headers')} rows="3" />
      <${TextArea} className="whole" label=${t('publish.properties')} hint=${t('publish.properties_hint')} error=${more.error} value=${f.properties} onInput=${put('properties')} rows="3" />
    </form>
    ${!wrong && html`<${Commands} commands=${publishCommands(here(), { vhost, exchange: f.exchange, body: bodyOf() })} />`}
  </${Dialog}>`;
}

// getFrom opens the dialog that takes messages as a client would.
export const getFrom = (props) => open(Get, props);

function Get({ close, vhost, name }) {
  const [f, set] = useState({ count: 1, ackmode: 'ack_requeue_true' });
  const [got, show] = useState(null);
  const submit = async (e) => {
    e.preventDefault();
    await attempt(async () =>
      show(
        await api.post(path`queues/${vhost}/${name}/get`, {
          count: f.count || 1,
          ackmode: f.ackmode,
          encoding: 'auto',
          truncate: 50000,
        }),
      ),
    );
  };
  const modes = ['ack_requeue_true', 'ack_requeue_false', 'reject_requeue_true', 'reject_requeue_false'];
  return html`<${Dialog} title=${t('get.title', { name })} close=${close} wide light actions=${html`
    <button type="button" onClick=${() => close()}>${t('frame.close')}</button><button type="submit" form="get" class="primary">${t('get.do')}</button>`}>
    <p class="banner warn">${t('get.warning')}</p>
    <form id="get" class="form" onSubmit=${submit}>
      <${NumberField} label=${t('get.count')} min="1" max="1000" value=${f.count} onInput=${(count) => set({ ...f, count })} />
      <${Select} label=${t('get.mode')} value=${f.ackmode} onInput=${(ackmode) => set({ ...f, ackmode })} options=${modes.map((m) => [m, t(`get.${m}`)])} />
    </form>
    <div role="status">${got && html`<p>${t('get.got', { n: got.length })}</p>`}</div>
    ${got?.map(
      (m, i) => html`<section class="card" key=${i}>
      <dl class="pairs"><dt>${t('publish.exchange')}</dt><dd>${m.exchange || t('exchange.default')}</dd><dt>${t('publish.key')}</dt><dd>${m.routing_key}</dd><dt>${t('get.redelivered')}</dt><dd>${m.redelivered ? t('frame_words.yes') : t('frame_words.no')}</dd><dt>${t('get.left')}</dt><dd>${num(m.message_count)}</dd></dl>
      <${Code} text=${JSON.stringify(m.properties, null, 2)} label=${t('publish.properties')} /><${Code} text=${m.payload} label=${t('publish.payload')} />
    </section>`,
    )}
  </${Dialog}>`;
}

// purge asks, and empties queues.
export async function purge(queues) {
  const n = queues.reduce((sum, q) => sum + (q.messages_ready || 0), 0);
  const sure = await confirm({
    title: t('queues.purge_title', { n: queues.length, name: queues[0].name }),
    text: t('queues.purge_text', { n, queues: names(queues) }),
    children: asCommands(purgeCommands, queues),
    action: t('queues.purge'),
    danger: true,
    typed: n > 1000 ? String(n) : undefined,
  });
  return (
    sure &&
    each(
      queues,
      (q) => api.delete(path`queues/${q.vhost}/${q.name}/contents`),
      (k) => t('queues.purged', { n: k }),
    )
  );
}

// remove asks, and deletes queues.
export async function remove(queues) {
  const n = queues.reduce((sum, q) => sum + (q.messages || 0), 0);
  const used = queues.filter((q) => q.consumers > 0).length;
  const sure = await confirm({
    title: t('queues.delete_title', { n: queues.length, name: queues[0].name }),
    text: t('queues.delete_text', { n, queues: names(queues), used }),
    children: asCommands(deleteCommands, queues),
    action: t('queues.delete'),
    danger: true,
    typed: n > 1000 ? String(n) : undefined,
  });
  return (
    sure &&
    each(
      queues,
      (q) => api.delete(path`queues/${q.vhost}/${q.name}`),
      (k) => t('queues.deleted', { n: k }),
    )
  );
}

// asCommands shows what is done to queues as commands, unless there are too many.
const asCommands = (commands, queues) =>
  queues.length <= 20 && html`<${Commands} commands=${commands(here(), queues)} />`;

const names = (queues) =>
  queues
    .slice(0, 5)
    .map((q) => q.name)
    .join(t('frame.comma')) + (queues.length > 5 ? ' …' : '');

async function each(all, run, done) {
  let k = 0;
  const ok = await attempt(async () => {
    for (const one of all) {
      await run(one);
      k++;
    }
  });
  if (k) toast(done(k));
  return ok;
}

// bind opens the dialog for a binding: source and target {type, name}, either of them given.
export const bind = (props) => open(Bind, props);

function Bind({ close, vhost: first, source, target, delayed }) {
  const [vhost, setVHost] = useState(first);
  const [f, set] = useState({
    source: source ?? '',
    type: target?.type || 'queue',
    name: target?.name || '',
    key: '',
    args: '',
  });
  const args = parseObject(f.args, t('bind.arguments'));
  const submit = async (e) => {
    e.preventDefault();
    if (args.error) return;
    const kind = f.type === 'queue' ? 'q' : 'e';
    const done = await attempt(
      () =>
        api.post(path`bindings/${vhost}/e/${exchangeName(f.source)}/${kind}/${f.name}`, {
          routing_key: f.key,
          arguments: args.value,
        }),
      t('bind.done'),
    );
    if (done) close(true);
  };
  return html`<${Dialog} title=${t('bind.title')} close=${() => close(false)} actions=${html`
    <${Cancel} /><button type="submit" form="bind" class="primary">${t('bind.do')}</button>`}>
    <form id="bind" class="form" onSubmit=${submit}>
      ${source === undefined && !target && vhosts.value.length > 1 && html`<${Select} label=${t('queues.vhost')} value=${vhost} onInput=${setVHost} options=${vhosts.value} />`}
      <${TextField} label=${t('bind.from')} value=${f.source} readonly=${source !== undefined} autofocus=${source === undefined} onInput=${(v) => set({ ...f, source: v })} required />
      <${Select} label=${t('bind.kind')} value=${f.type} disabled=${!!target} onInput=${(v) => set({ ...f, type: v })} options=${[
        ['queue', t('bind.queue')],
        ['exchange', t('bind.exchange')],
      ]} />
      <${TextField} label=${t('bind.to')} value=${f.name} readonly=${!!target} autofocus=${!target} onInput=${(v) => set({ ...f, name: v })} required />
      <${TextField} label=${t('publish.key')} hint=${delayed ? undefined : t('bind.key_hint')} value=${f.key} onInput=${(v) => set({ ...f, key: v })} />
      <${TextArea} className="whole" label=${t('bind.arguments')} hint=${t('bind.arguments_hint')} error=${args.error} value=${f.args} onInput=${(v) => set({ ...f, args: v })} rows="3" />
    </form>
    ${f.source && f.name && !args.error && html`<${Commands} commands=${bindCommands(here(), { vhost, ...f, args: args.value })} />`}
  </${Dialog}>`;
}

// lacksToBind is what is missing to change a binding.
export function lacksToBind(b) {
  const rights = rightsIn(b.vhost);
  const kind = b.destination_type === 'queue' ? rights.queue : rights.exchange;
  return first(kind('write', b.destination), rights.exchange('read', b.source));
}

// unbind asks, and takes a binding away.
export async function unbind(b) {
  const kind = b.destination_type === 'queue' ? 'q' : 'e';
  const sure = await confirm({
    title: t('bind.remove_title'),
    text: t('bind.remove_text', { from: b.source, to: b.destination, key: b.routing_key }),
    action: t('bind.remove'),
    danger: true,
  });
  return (
    sure &&
    attempt(
      () => api.delete(path`bindings/${b.vhost}/e/${b.source}/${kind}/${b.destination}/${b.properties_key}`),
      t('bind.removed'),
    )
  );
}

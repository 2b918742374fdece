// Creating a queue: the settings that matter for messages that go wrong, what the declaration looks like, and what it would clash with.
import { html, useState } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href, letGo, to, up, visits } from '../../lib/router.js';
import { attempt, useDraft } from '../../lib/layers.js';
import { Check, Radios, Select, TextArea, TextField } from '../../lib/form.js';
import { Code, Codes } from '../../lib/code.js';
import { Action } from '../../lib/action.js';
import { first, rightsIn } from '../../lib/rights.js';
import { oneVHost, vhosts } from '../../lib/vhosts.js';
import { exchangeName, parseObject, queueType } from './parts.js';
import { There, useThere } from './queue-there.js';
import { SettingField } from './setting-parts.js';
import { RetryFields, isRetry } from './retry-fields.js';
import { fieldsOf } from '../../lib/known.js';
import { argumentsOf, inequivalent, inequivalentExchange } from './settings.js';
import { nameTrouble } from './queue-name.js';
import { declareCode } from '../code/clients.js';
import { declareCommands } from '../code/commands.js';
import { Icon } from '../../lib/icon.js';
import { Commands } from '../../lib/states.js';
import { here } from '../../lib/here.js';

// placed are the settings that have a place of their own in the form. Those of dead letters and retries have one by their
// names, and the others come last.
const placed = ['queue-type', 'message-ttl', 'max-length', 'max-length-bytes', 'overflow', 'delivery-limit', 'expires'];
const isOther = (s) => !placed.includes(s.name) && !/^(dead-letter|delayed-retry)-/.test(s.name);

const begin = (query) => ({
  name: query.name || '',
  durable: true,
  auto_delete: false,
  type: '', // the usual one of the virtual host
  letters: '', // not chosen
  settings: {}, // by name
  more: '',
});

// usualLetters is where dead letters of a queue go unless something is chosen: into a queue of their own. A dead-letter queue has none.
const usualLetters = (name) => (/(^|[._-])(dlq|dead|dead[._-]?letters?|retry)$/i.test(name) ? 'none' : 'own');

export const render = ({ query }) => html`<${Form} key=${visits.value} query=${query} />`;

function Form({ query }) {
  const [vhost, setVHost] = useState(query.vhost || oneVHost.value);
  const [f, set] = useState(() => begin(query));
  useDraft([vhost, f]);
  const put = (name) => (v) => set({ ...f, [name]: v });
  const fieldOf = (name, more = {}) =>
    html`<${SettingField} key=${name} name=${name} defaults value=${f.settings[name]} onInput=${(v) => set({ ...f, settings: { ...f.settings, [name]: v } })} ...${more} />`;
  const about = useData(
    (signal) => api.get(path`vhosts/${vhost}`, { columns: 'default_queue_type' }, { signal }),
    [vhost],
    {
      every: 0,
    },
  );
  const usual = about.data?.default_queue_type || 'classic';
  const type = f.type || usual;
  const fields = fieldsOf('argument', (s) => !s.queue_type || s.queue_type === type);
  const [dlx, dlk] = ['dead-letter-exchange', 'dead-letter-routing-key'];
  const options = useData((signal) => api.get(path`x/options/${vhost}`, { effective: true }, { signal }), [vhost], {
    every: 0,
  });
  const exchanges = useData(
    (signal) => api.get(path`exchanges/${vhost}`, { columns: exchangeColumns, disable_stats: true }, { signal }),
    [vhost],
    { every: 0 },
  );
  const more = parseObject(f.more, t('setting.arguments'));
  const isSet = (name) => (f.settings[name] ?? null) !== null;
  const letters = f.deadLetters || usualLetters(f.name);
  const own = letters === 'own';
  const name = f.name || 'orders'; // of the examples
  const [nameOfDLX, nameOfDLQ] = [`${name}.dlx`, `${name}.dlq`];
  const exchange = { none: null, own: nameOfDLX, exchange: f.settings[dlx] || '', queue: '' }[letters];
  const asked = {
    vhost,
    name: f.name,
    durable: type === 'quorum' || f.durable,
    auto_delete: f.auto_delete,
    arguments: argumentsOf({
      type,
      usual,
      settings: { ...f.settings, [dlx]: exchange, [dlk]: own ? name : f.settings[dlk] },
      more: more.value || {},
    }),
  };
  const trouble = nameTrouble(f.name, options.data?.['strict-names']) || (own && nameTrouble(nameOfDLQ));
  const missing = letters === 'exchange' && exchanges.data && !exchanges.data.some((e) => e.name === exchange);
  const makes = own && f.name;
  const queue = useThere(vhost, f.name);
  const dlq = useThere(vhost, makes ? nameOfDLQ : '');
  const dlxThere = makes && exchanges.data?.find((e) => e.name === nameOfDLX);
  const there = [
    queue && { kind: 'queue', name: f.name, clash: inequivalent(queue, asked, usual) },
    dlxThere && { kind: 'exchange', name: nameOfDLX, clash: inequivalentExchange(dlxThere, ownExchange) },
    dlq && { kind: 'queue', name: nameOfDLQ, clash: inequivalent(dlq, ownQueue, usual) },
  ].filter(Boolean);
  const rights = rightsIn(vhost);
  const lacks = f.name ? lacksFor(rights, f.name, own) : rights.any('configure');
  const clash = there.find((x) => x.clash.length > 0);
  const [target, asksFor] = {
    exchange: [exchange, 'setting.dead-letter-exchange'],
    queue: [f.settings[dlk], 'create.to_queue'],
  }[letters] || [true];
  const toCreate = first(
    lacks,
    trouble && t(trouble),
    clash && t('create.clash', clash),
    !target && t('form_words.fill_in', { what: t(asksFor) }),
    more.error,
  );
  const submit = async (e) => {
    e.preventDefault();
    if (toCreate) return;
    const done = await attempt(
      async () => {
        // The queue first: if it is refused, no dead-letter queue stays behind.
        await api.put(path`queues/${vhost}/${f.name}`, {
          durable: asked.durable,
          auto_delete: asked.auto_delete,
          arguments: asked.arguments,
        });
        if (own) await addDeadLetterQueue(vhost, f.name);
      },
      t('create.done', { name: f.name }),
    );
    if (!done) return;
    letGo();
    go(to`/queues/${vhost}/${f.name}`);
  };
  return html`<p class="crumbs"><a href=${up('/queues', { vhost })}>${t('queues.title')}</a></p><h1>${t('create.title')}</h1>
    <form class="split" onSubmit=${submit}>
      <div class="card">
        <div class="form">
          <${Select} label=${t('queues.vhost')} value=${vhost} onInput=${setVHost} options=${vhosts.value} />
          <${TextField} label=${t('queues.name')} value=${f.name} onInput=${put('name')} autofocus required maxlength="255" error=${f.name && trouble ? t(trouble) : undefined} hint=${t('create.name_hint', { n: num(new TextEncoder().encode(f.name).length) })} />
          <${Select} label=${t('queues.type')} value=${type} onInput=${put('type')} options=${[
            ['classic', queueType('classic')],
            ['quorum', t('create.quorum')],
          ]} />
          <div><${Check} label=${t('setting.durable')} value=${asked.durable} disabled=${type === 'quorum'} onInput=${put('durable')} />
            <${Check} label=${t('setting.auto-delete')} value=${f.auto_delete} onInput=${put('auto_delete')} /></div>
        </div>
        ${there.map((x) => html`<${There} key=${x.kind + x.name} vhost=${vhost} ...${x} />`)}
        <h2>${t('create.letters')}</h2>
        <${Radios} label=${t('create.where')} value=${letters} onInput=${put('deadLetters')} options=${[
          ['none', t('create.letters_none'), t('create.letters_none_hint')],
          ['own', t('create.letters_own'), t('create.letters_own_hint')],
          ['exchange', t('create.letters_exchange')],
          ['queue', t('create.letters_queue'), t('create.letters_queue_hint')],
        ]} />
        ${
          own &&
          html`<ul class="creates" aria-label=${t('create.creates')}>
          <li><${Icon} name="queues" /> ${t('create.creates_queue', { name })}</li>
          <li><${Icon} name="exchanges" /> ${t('create.creates_exchange', { name: nameOfDLX })}</li>
          <li><${Icon} name="letters" /> ${t('create.creates_dlq', { name: nameOfDLQ, key: name })}</li></ul>`
        }
        ${
          letters === 'exchange' &&
          html`<div class="form">
          ${fieldOf(dlx, { required: true, exchanges: (exchanges.data || []).filter((e) => e.name && !e.internal).map((e) => e.name), hint: missing && exchange ? t('create.no_exchange') : undefined })}
          ${fieldOf(dlk, { hint: t('create.dlk_hint') })}</div>`
        }
        ${letters === 'queue' && fieldOf(dlk, { label: t('create.to_queue'), required: true })}
        ${letters !== 'none' && fieldOf('dead-letter-strategy')}
        <h2>${t('create.limits')}</h2>
        <div class="form">
          ${fieldOf('message-ttl', { hint: isSet('message-ttl') && exchange === null ? t('create.ttl_lost') : undefined })}
          ${fieldOf('max-length')}
          ${fieldOf('max-length-bytes')}
          ${(isSet('max-length') || isSet('max-length-bytes')) && fieldOf('overflow')}
          ${fieldOf('delivery-limit', { hint: t('create.delivery_hint') })}
          ${fieldOf('expires')}
        </div>
        <h2>${t('create.retry')}</h2>
        <${RetryFields} defaults names=${fields.map((s) => s.name).filter(isRetry)} settings=${f.settings} change=${(values) => set({ ...f, settings: { ...f.settings, ...values } })} after=${exchange === null ? 'lost' : 'exchange'} />
        <h2>${t('create.more')}</h2>
        <div class="form">${fields.filter(isOther).map((s) => fieldOf(s.name))}
          <${TextArea} className="whole" rows="3" label=${t('setting.arguments')} hint=${t('publish.headers_hint')} error=${more.error} value=${f.more} onInput=${put('more')} /></div>
        <p class="buttons"><${Action} type="submit" lacks=${toCreate} className="primary">${t('create.do')}</${Action}> ${lacks && html`<span class="reason">${lacks}</span>`}</p>
      </div>
      <aside class="card" aria-label=${t('create.result')}>
        <h2>${t('create.arguments')}</h2><${Code} text=${JSON.stringify(asked.arguments, null, 2)} label=${t('create.arguments')} />
        <h2>${t('create.code')}</h2><${Codes} of=${declareCode({ ...asked, name })} label=${t('create.code')} />
        <${Commands} commands=${declareCommands(here(), { ...asked, name }, own)} />
        <p class="hint">${t('create.policy_hint')} <a href=${href('/policies/edit', { vhost })}>${t('create.policy')}</a></p>
      </aside>
    </form>`;
}

const exchangeColumns = 'name,type,durable,auto_delete,internal,arguments';

// ownExchange and ownQueue are the dead-letter exchange and the dead-letter queue that are made for a queue.
const ownExchange = { type: 'direct', durable: true, auto_delete: false, internal: false, arguments: {} };
const ownQueue = { durable: true, auto_delete: false, arguments: {} };

// lacksFor is what is missing to declare a queue, with those made for it if it has own ones.
function lacksFor(rights, name, own) {
  if (!own) return rights.queue('configure', name);
  const [dlx, dlq] = [`${name}.dlx`, `${name}.dlq`];
  return first(
    rights.queue('configure', name, dlq),
    rights.exchange('configure', dlx),
    rights.queue('write', dlq),
    rights.exchange('read', dlx),
    rights.queue('read', name),
    rights.exchange('write', dlx),
  );
}

// addDeadLetterQueue declares a dead-letter exchange and a dead-letter queue for one queue.
async function addDeadLetterQueue(vhost, name) {
  await api.put(path`exchanges/${vhost}/${exchangeName(`${name}.dlx`)}`, ownExchange);
  await api.put(path`queues/${vhost}/${name + '.dlq'}`, ownQueue);
  await api.post(path`bindings/${vhost}/e/${name + '.dlx'}/q/${name + '.dlq'}`, { routing_key: name, arguments: {} });
}

// Creating a queue: the settings that matter for messages that go wrong, what the declaration looks like, and what it would clash with.
import { html, useEffect, useState } from '../../lib/html.js';
import { t, num } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href, to } from '../../lib/router.js';
import { attempt } from '../../lib/layers.js';
import { Check, Duration, NumberField, Radios, Select, TextArea, TextField } from '../../lib/form.js';
import { Code, Codes } from '../../lib/code.js';
import { oneVHost, vhosts } from '../../lib/vhosts.js';
import { QueueLink, exchangeName, parseObject, written } from './parts.js';
import { argumentsOf, inequivalent, nameTrouble } from './settings.js';
import { declareCode } from './declare.js';

const begin = (query) => ({
  name: query.name || '',
  durable: true,
  auto_delete: false,
  type: 'classic',
  letters: 'none',
  dlx: '',
  dlk: '',
  strategy: '',
  ttl: null,
  expires: null,
  maxLength: null,
  maxBytes: null,
  overflow: '',
  deliveryLimit: null,
  priority: null,
  single: false,
  retryType: '',
  retryMin: null,
  retryMax: null,
  retryBackoff: '',
  retryAttempts: null,
  more: '',
});

export function render({ query }) {
  const [vhost, setVHost] = useState(query.vhost || oneVHost.value);
  const [f, set] = useState(() => begin(query));
  const put = (name) => (v) => set({ ...f, [name]: v });
  const options = useData((signal) => api.get(path`x/options/${vhost}`, { effective: true }, { signal }), [vhost], {
    every: 0,
  });
  const exchanges = useData(
    (signal) => api.get(path`exchanges/${vhost}`, { columns: 'name,type,internal', disable_stats: true }, { signal }),
    [vhost],
    { every: 0 },
  );
  const there = useThere(vhost, f.name);
  const more = parseObject(f.more);
  const own = f.letters === 'own';
  const dlx = own ? `${f.name}.dlx` : f.letters === 'exchange' ? f.dlx : f.letters === 'queue' ? '' : null;
  const asked = {
    vhost,
    name: f.name,
    durable: f.type === 'quorum' || f.durable,
    auto_delete: f.auto_delete,
    arguments: argumentsOf({ ...f, dlx, dlk: own ? f.name : f.dlk, more: more.value || {} }),
  };
  const trouble = nameTrouble(f.name, options.data?.['strict-names']);
  const missing = f.letters === 'exchange' && exchanges.data && !exchanges.data.some((e) => e.name === f.dlx);
  const clash = there ? inequivalent(there, asked) : [];
  const ready =
    !trouble &&
    !more.error &&
    clash.length === 0 &&
    !(f.letters === 'exchange' && !f.dlx) &&
    !(f.letters === 'queue' && !f.dlk);
  const submit = async (e) => {
    e.preventDefault();
    if (!ready) return;
    const done = await attempt(
      async () => {
        if (own) await makeOffice(vhost, f.name);
        await api.put(path`queues/${vhost}/${f.name}`, {
          durable: asked.durable,
          auto_delete: asked.auto_delete,
          arguments: asked.arguments,
        });
      },
      t('create.done', { name: f.name }),
    );
    if (done) go(to`/queues/${vhost}/${f.name}`);
  };
  return html`<p class="crumbs"><a href=${href('/queues', { vhost })}>${t('queues.title')}</a></p><h1>${t('create.title')}</h1>
    <form class="split" onSubmit=${submit}>
      <div class="card">
        <div class="form">
          <${Select} label=${t('queues.vhost')} value=${vhost} onInput=${setVHost} options=${vhosts.value} />
          <${TextField} label=${t('queues.name')} value=${f.name} onInput=${put('name')} autofocus required maxlength="255" error=${f.name && trouble ? t(trouble) : undefined} hint=${t('create.name_hint', { n: num(new TextEncoder().encode(f.name).length) })} />
          <${Select} label=${t('queues.type')} value=${f.type} onInput=${put('type')} options=${[
            ['classic', t('create.classic')],
            ['quorum', t('create.quorum')],
          ]} />
          <div><${Check} label=${t('setting.durable')} value=${asked.durable} disabled=${f.type === 'quorum'} onInput=${put('durable')} />
            <${Check} label=${t('setting.auto-delete')} value=${f.auto_delete} onInput=${put('auto_delete')} /></div>
        </div>
        ${
          there &&
          html`<p class=${`banner ${clash.length ? 'bad' : 'warn'}`} role="status">${clash.length ? t('create.clash', { name: f.name }) : t('create.same', { name: f.name })} <${QueueLink} vhost=${vhost} name=${f.name} /></p>
          ${clash.length > 0 && html`<ul>${clash.map((c) => html`<li key=${c.name}>${t('create.differs', { name: c.name, has: written(c.has), asked: written(c.asked) })}</li>`)}</ul>`}`
        }
        <h2>${t('create.letters')}</h2>
        <${Radios} label=${t('create.where')} value=${f.letters} onInput=${put('letters')} options=${[
          ['none', t('create.letters_none'), t('create.letters_none_hint')],
          [
            'own',
            t('create.letters_own'),
            t('create.letters_own_hint', { dlx: `${f.name || '…'}.dlx`, dlq: `${f.name || '…'}.dlq` }),
          ],
          ['exchange', t('create.letters_exchange')],
          ['queue', t('create.letters_queue'), t('create.letters_queue_hint')],
        ]} />
        ${
          f.letters === 'exchange' &&
          html`<div class="form">
          <${TextField} label=${t('setting.dead-letter-exchange')} value=${f.dlx} onInput=${put('dlx')} required list=${(exchanges.data || []).filter((e) => e.name && !e.internal).map((e) => e.name)} hint=${missing && f.dlx ? t('create.no_exchange') : undefined} />
          <${TextField} label=${t('setting.dead-letter-routing-key')} value=${f.dlk} onInput=${put('dlk')} hint=${t('create.dlk_hint')} /></div>`
        }
        ${f.letters === 'queue' && html`<${TextField} label=${t('create.to_queue')} value=${f.dlk} onInput=${put('dlk')} required />`}
        ${
          f.letters !== 'none' &&
          html`<${Select} label=${t('setting.dead-letter-strategy')} value=${f.strategy} onInput=${put('strategy')} options=${[
            ['', t('create.strategy_usual')],
            ['at-least-once', t('create.at_least_once')],
          ]} />`
        }
        <h2>${t('create.limits')}</h2>
        <div class="form">
          <${Duration} label=${t('setting.message-ttl')} hint=${f.ttl !== null && dlx === null ? t('create.ttl_lost') : undefined} value=${f.ttl} onInput=${put('ttl')} />
          <${NumberField} label=${t('setting.max-length')} min="0" value=${f.maxLength} onInput=${put('maxLength')} />
          <${NumberField} label=${t('setting.max-length-bytes')} min="0" unit=${t('create.bytes')} value=${f.maxBytes} onInput=${put('maxBytes')} />
          ${
            (f.maxLength || f.maxBytes) &&
            html`<${Select} label=${t('setting.overflow')} value=${f.overflow} onInput=${put('overflow')} options=${[
              ['', t('create.drop_head')],
              ['reject-publish', t('create.reject_publish')],
              ['reject-publish-dlx', t('create.reject_publish_dlx')],
              ['drop-lowest', t('create.drop_lowest')],
            ]} />`
          }
          <${NumberField} label=${t('setting.delivery-limit')} min="-1" hint=${t('create.delivery_hint')} value=${f.deliveryLimit} onInput=${put('deliveryLimit')} />
          <${Duration} label=${t('setting.expires')} value=${f.expires} onInput=${put('expires')} />
        </div>
        <h2>${t('create.retry')}</h2>
        <div class="form">
          <${Select} label=${t('setting.delayed-retry-type')} value=${f.retryType} onInput=${put('retryType')} options=${[
            ['', t('create.retry_none')],
            ['all', t('create.retry_all')],
            ['failed', t('create.retry_failed')],
            ['returned', t('create.retry_returned')],
          ]} />
          ${
            f.retryType &&
            html`<${Duration} label=${t('setting.delayed-retry-min')} value=${f.retryMin} onInput=${put('retryMin')} />
            <${Duration} label=${t('setting.delayed-retry-max')} value=${f.retryMax} onInput=${put('retryMax')} />
            <${Select} label=${t('setting.delayed-retry-backoff')} value=${f.retryBackoff} onInput=${put('retryBackoff')} options=${[
              ['', t('create.linear')],
              ['exponential', t('create.exponential')],
              ['fixed', t('create.fixed')],
            ]} />
            <${NumberField} label=${t('setting.delayed-retry-attempts')} min="1" value=${f.retryAttempts} onInput=${put('retryAttempts')} />`
          }
        </div>
        <h2>${t('create.more')}</h2>
        <div class="form"><${NumberField} label=${t('setting.max-priority')} min="1" max="255" value=${f.priority} onInput=${put('priority')} />
          <${Check} label=${t('setting.single-active-consumer')} value=${f.single} onInput=${put('single')} />
          <${TextArea} className="whole" rows="3" label=${t('setting.arguments')} hint=${t('publish.headers_hint')} error=${more.error} value=${f.more} onInput=${put('more')} /></div>
        <p class="buttons"><button type="submit" class="primary" disabled=${!ready}>${t('create.do')}</button></p>
      </div>
      <aside class="card" aria-label=${t('create.result')}>
        <h2>${t('create.arguments')}</h2><${Code} text=${JSON.stringify(asked.arguments, null, 2)} label=${t('create.arguments')} />
        <h2>${t('create.code')}</h2><${Codes} of=${declareCode({ ...asked, name: f.name || 'orders' })} label=${t('create.code')} />
        <p class="hint">${t('create.policy_hint')} <a href=${href('/policies/edit', { vhost })}>${t('create.policy')}</a></p>
      </aside>
    </form>`;
}

// useThere is the queue of that name, a moment after it was typed; null if there is none.
function useThere(vhost, name) {
  const [found, set] = useState(null);
  useEffect(() => {
    set(null);
    if (!name) return undefined;
    const abort = new AbortController();
    const timer = setTimeout(
      () =>
        api
          .get(
            path`queues/${vhost}`,
            {
              name: `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`,
              use_regex: true,
              page: 1,
              page_size: 2,
              disable_stats: true,
            },
            { signal: abort.signal },
          )
          .then(
            (got) => set(got.items.find((q) => q.name === name) || null),
            () => {},
          ),
      250,
    );
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [vhost, name]);
  return found;
}

// makeOffice makes a dead-letter exchange and a queue for one queue's letters.
async function makeOffice(vhost, name) {
  await api.put(path`exchanges/${vhost}/${exchangeName(`${name}.dlx`)}`, { type: 'direct', durable: true });
  await api.put(path`queues/${vhost}/${name + '.dlq'}`, { durable: true });
  await api.post(path`bindings/${vhost}/e/${name + '.dlx'}/q/${name + '.dlq'}`, { routing_key: name, arguments: {} });
}

// Dialogs about users: who they are, what they may, and topic permissions.
import { html, useState } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { Cancel, Dialog, attempt } from '../../lib/layers.js';
import { Check, Radios, Select, TextField } from '../../lib/form.js';
import { CopyButton } from '../../lib/code.js';
import { Commands } from '../../lib/states.js';
import { here } from '../../lib/here.js';
import { grantCommands, topicCommands, userCommands } from '../code/commands.js';
import { vhosts } from '../../lib/vhosts.js';
import { allows } from '../../lib/permissions.js';
import { useTaken } from './taken.js';
import { lookAround, password, trouble, usual } from './rights.js';

export const tagNames = ['administrator', 'monitoring', 'policymaker', 'management', 'impersonator'];

// EditUser makes a user, or changes one: known is {name, tags}. It closes with the name. Making one that exists is refused: the API would
// replace its password and tags.
export function EditUser({ close, known }) {
  const [f, set] = useState({
    name: known?.name || '',
    tags: new Set(known?.tags || []),
    how: known ? 'keep' : 'password',
    password: '',
    hash: '',
    shown: false,
  });
  const put = (name) => (v) => set({ ...f, [name]: v });
  const taken = useTaken('users', !known);
  const exists = taken.has(f.name) ? t('users.exists', { name: f.name }) : undefined;
  const body = { tags: [...f.tags].join(',') };
  if (f.how === 'password') body.password = f.password;
  if (f.how === 'hash') body.password_hash = f.hash;
  if (f.how === 'none') body.password_hash = '';
  if (f.how === 'keep')
    Object.assign(body, { password_hash: known.password_hash, hashing_algorithm: known.hashing_algorithm });
  const submit = async (e) => {
    e.preventDefault();
    let free = false;
    if (!(await attempt(async () => (free = await taken.free(f.name)))) || !free) return;
    if (await attempt(() => api.put(path`users/${f.name}`, body), t('users.saved', { name: f.name }))) close(f.name);
  };
  const others = [...f.tags].filter((tag) => !tagNames.includes(tag));
  return html`<${Dialog} title=${known ? t('users.edit', { name: known.name }) : t('users.create')} close=${() => close()} actions=${html`<${Cancel} /><button type="submit" form="user" class="primary">${t(known ? 'policies.save' : 'create.do')}</button>`}>
    <form id="user" onSubmit=${submit}>
      <${TextField} label=${t('queues.name')} value=${f.name} readonly=${!!known} error=${exists} onInput=${put('name')} required autofocus=${!known} autocomplete="off" />
      <${Radios} label=${t('users.password')} value=${f.how} onInput=${put('how')} options=${[...(known ? [['keep', t('users.keep')]] : []), ['password', t('users.new_password')], ['hash', t('users.hash')], ['none', t('users.without')]]} />
      ${
        f.how === 'password' &&
        html`<${TextField} label=${t('users.new_password')} type=${f.shown ? 'text' : 'password'} value=${f.password} onInput=${put('password')} required autocomplete="new-password" />
        <p class="buttons"><button type="button" onClick=${() => set({ ...f, shown: true, password: password((b) => crypto.getRandomValues(b)) })}>${t('users.generate')}</button>
        ${f.shown && f.password && html`<${CopyButton} text=${f.password} />`}<${Check} label=${t('users.show')} value=${f.shown} onInput=${put('shown')} /></p>`
      }
      ${f.how === 'hash' && html`<${TextField} label=${t('users.hash')} hint=${t('users.hash_hint')} value=${f.hash} onInput=${put('hash')} required />`}
      <fieldset class="radios"><legend>${t('users.tags')}</legend>${[...tagNames, ...others].map(
        (tag) =>
          html`<${Check} key=${tag} label=${html`<code>${tag}</code>`} hint=${tagNames.includes(tag) ? t(`tag_hint.${tag}`) : undefined} value=${f.tags.has(tag)} onInput=${(
            on,
          ) => {
            const tags = new Set(f.tags);
            if (on) tags.add(tag);
            else tags.delete(tag);
            set({ ...f, tags });
          }} />`,
      )}</fieldset>
    </form>
    ${f.name && html`<${Commands} commands=${userCommands(here(), f.name, body, { known, how: f.how, shown: f.shown })} />`}</${Dialog}>`;
}

// useNames are the queues and exchanges of a virtual host, to say how many an expression lets through.
function useNames(vhost) {
  return useData(
    async (signal) => {
      const names = async (list) =>
        (await api.get(`${list}/${path`${vhost}`}`, { columns: 'name', disable_stats: true }, { signal })).map(
          (x) => x.name,
        );
      const [queues, exchanges] = await Promise.all([names('queues'), names('exchanges')]);
      return { queues, exchanges };
    },
    [vhost],
    { every: 0, enabled: !!vhost },
  );
}

function Expression({ label, value, onInput, names }) {
  const bad = trouble(value);
  const warning = lookAround(value) ? t('policies.re2') : '';
  const hint =
    names &&
    !warning &&
    t('users.matches', {
      queues: names.queues.filter((n) => allows(value, n)).length,
      exchanges: names.exchanges.filter((n) => allows(value, n)).length,
    });
  return html`<${TextField} className="mono" label=${label} value=${value} onInput=${onInput} error=${bad || undefined} hint=${hint} warning=${warning} list=${['.*', '^$', '']} />`;
}

// Grant changes what a user may in a virtual host: known is the permission there is.
export function Grant({ close, user, vhost: fixed, known }) {
  const [vhost, setVHost] = useState(fixed || vhosts.value[0]);
  const [f, set] = useState(known || { configure: '', write: '', read: '' });
  const names = useNames(vhost).data;
  const put = (name) => (v) => set({ ...f, [name]: v });
  const at = path`permissions/${vhost}/${user}`;
  const submit = async (e) => {
    e.preventDefault();
    if (
      await attempt(
        () => api.put(at, { configure: f.configure, write: f.write, read: f.read }),
        t('users.granted', { user, vhost }),
      )
    )
      close(true);
  };
  const revoke = async () => (await attempt(() => api.delete(at), t('users.revoked', { user, vhost }))) && close(true);
  return html`<${Dialog} title=${t('users.grant_title', { user, vhost })} close=${() => close(false)} actions=${html`
    ${known && html`<button type="button" onClick=${revoke}>${t('users.revoke')}</button>`}<${Cancel} /><button type="submit" form="grant" class="primary">${t('policies.save')}</button>`}>
    <form id="grant" onSubmit=${submit}>
      ${!fixed && html`<${Select} label=${t('queues.vhost')} value=${vhost} onInput=${setVHost} options=${vhosts.value} />`}
      <p class="buttons">${Object.entries(usual).map(([name, [configure, write, read]], i) => html`<button type="button" class="small" key=${name} autofocus=${!!fixed && i === 0} onClick=${() => set({ ...f, configure, write, read })}>${t(`usual.${name}`)}</button>`)}</p>
      <p class="hint">${t('users.read_hint')}</p>
      ${['configure', 'write', 'read'].map((right) => html`<${Expression} key=${right} label=${t(`right.${right}`)} value=${f[right]} onInput=${put(right)} names=${names} />`)}
    </form>
    <${Commands} commands=${grantCommands(here(), { ...f, vhost, user })} /></${Dialog}>`;
}

// GrantTopic changes what keys a user may publish and bind with at a topic exchange.
export function GrantTopic({ close, user, known }) {
  const [f, set] = useState(known || { vhost: vhosts.value[0], exchange: '', write: '.*', read: '.*' });
  const put = (name) => (v) => set({ ...f, [name]: v });
  const exchanges = useData(
    (signal) => api.get(path`exchanges/${f.vhost}`, { columns: 'name,type', disable_stats: true }, { signal }),
    [f.vhost],
    { every: 0 },
  );
  const submit = async (e) => {
    e.preventDefault();
    if (
      await attempt(
        () =>
          api.put(path`topic-permissions/${f.vhost}/${user}`, { exchange: f.exchange, write: f.write, read: f.read }),
        t('users.granted', { user, vhost: f.vhost }),
      )
    )
      close(true);
  };
  return html`<${Dialog} title=${t('users.topic_title', { user })} close=${() => close(false)} actions=${html`<${Cancel} /><button type="submit" form="topic" class="primary">${t('policies.save')}</button>`}>
    <form id="topic" onSubmit=${submit}>
      <${Select} label=${t('queues.vhost')} value=${f.vhost} disabled=${!!known} onInput=${put('vhost')} options=${vhosts.value} />
      <${TextField} label=${t('publish.exchange')} value=${f.exchange} readonly=${!!known} onInput=${put('exchange')} required list=${(exchanges.data || []).filter((e) => e.type === 'topic').map((e) => e.name)} />
      <${Expression} label=${t('users.topic_write')} value=${f.write} onInput=${put('write')} />
      <${Expression} label=${t('users.topic_read')} value=${f.read} onInput=${put('read')} />
      <p class="hint">${t('users.topic_hint')}</p>
    </form>
    ${f.exchange && html`<${Commands} commands=${topicCommands(here(), { ...f, user })} />`}</${Dialog}>`;
}

// One user: permissions, what they come to, limits.
import { html, useState } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href, to, up } from '../../lib/router.js';
import { Shown } from '../../lib/states.js';
import { Icon } from '../../lib/icon.js';
import { attempt, confirm, open } from '../../lib/layers.js';
import { Select, TextField } from '../../lib/form.js';
import { vhosts, oneVHost } from '../../lib/vhosts.js';
import { user as me } from '../../lib/session.js';
import { EditUser, Grant, GrantTopic } from './user-dialogs.js';
import { Rights } from './users.js';
import { Limits } from './limits.js';
import { deeds, judge, needs, topicJudge } from './rights.js';

export function render({ params: { name } }) {
  const got = useData(
    async (signal) => {
      const [user, permissions, topics] = await Promise.all([
        api.get(path`users/${name}`, {}, { signal }),
        api.get(path`users/${name}/permissions`, {}, { signal }),
        api.get(path`users/${name}/topic-permissions`, {}, { signal }),
      ]);
      return { user, permissions, topics };
    },
    [name],
    { every: 10000 },
  );
  const u = got.data?.user;
  const remove = async () => {
    if (
      (await confirm({
        title: t('users.delete_title', { n: 1, name }),
        text: t('users.delete_text', { names: name }),
        action: t('queues.delete'),
        danger: true,
      })) &&
      (await attempt(() => api.delete(path`users/${name}`), t('users.deleted', { n: 1 })))
    )
      go('/users');
  };
  return html`<p class="crumbs"><a href=${up('/users')}>${t('users.title')}</a></p>
    <div class="page-head"><h1>${name}</h1>${
      u &&
      html`<span class="buttons"><button type="button" onClick=${() => open(EditUser, { known: u }).then((done) => done && got.refresh())}><${Icon} name="edit" /> ${t('users.change')}</button>
      <a class="button" href=${href('/audit', { user: name })}>${t('audit.title')}</a>
      <button type="button" disabled=${name === me.value?.name} onClick=${remove}><${Icon} name="discard" /> ${t('queues.delete')}</button></span>`
    }</div>
    <${Shown} of=${got}>${(d) => html`
      <p><span class="tags">${d.user.tags.length ? d.user.tags.map((tag) => html`<span class="tag" key=${tag}>${tag}</span>`) : html`<span class="faint">${t('users.no_tag')}</span>`}</span> ${!d.user.password_hash && html`<span class="tag warn">${t('users.no_password')}</span>`}</p>
      <section class="card"><header><h2>${t('users.permissions')}</h2><span class="grow"></span><button type="button" onClick=${() => open(Grant, { user: name }).then((done) => done && got.refresh())}>${t('users.grant')}</button></header>
        ${
          d.permissions.length === 0
            ? html`<p class="banner warn">${t('users.none_text')}</p>`
            : html`<div class="table-box small" tabindex="0" role="region" aria-label=${t('users.permissions')}><table class="plain-table"><caption class="hidden">${t('users.permissions')}</caption><thead><tr><th scope="col">${t('queues.vhost')}</th><th scope="col">${t('users.rights')}</th><th scope="col"><span class="hidden">${t('users.change')}</span></th></tr></thead>
          <tbody>${d.permissions.map((p) => html`<tr key=${p.vhost}><th scope="row"><a href=${href(to`/vhosts/${p.vhost}`)}>${p.vhost}</a></th><td><${Rights} of=${p} /></td><td><button type="button" class="small" onClick=${() => open(Grant, { user: name, vhost: p.vhost, known: p }).then((done) => done && got.refresh())}>${t('users.change')}</button></td></tr>`)}</tbody></table></div>`
        }</section>
      <${Tester} permissions=${d.permissions} topics=${d.topics} />
      <section class="card"><header><h2>${t('users.topics')}</h2><span class="grow"></span><button type="button" onClick=${() => open(GrantTopic, { user: name }).then((done) => done && got.refresh())}>${t('users.grant_topic')}</button></header>
        ${
          d.topics.length === 0
            ? html`<p class="hint">${t('users.topic_hint')}</p>`
            : html`<div class="table-box small" tabindex="0" role="region" aria-label=${t('users.topics')}><table class="plain-table"><caption class="hidden">${t('users.topics')}</caption><thead><tr><th scope="col">${t('queues.vhost')}</th><th scope="col">${t('publish.exchange')}</th><th scope="col">${t('users.topic_write')}</th><th scope="col">${t('users.topic_read')}</th><th scope="col"><span class="hidden">${t('users.change')}</span></th></tr></thead>
          <tbody>${d.topics.map(
            (
              p,
            ) => html`<tr key=${p.vhost + p.exchange}><td>${p.vhost}</td><td>${p.exchange}</td><td><code>${p.write}</code></td><td><code>${p.read}</code></td><td><span class="buttons"><button type="button" class="small" onClick=${() => open(GrantTopic, { user: name, known: p }).then((done) => done && got.refresh())}>${t('users.change')}</button>
            <button type="button" class="small" onClick=${() => attempt(() => api.delete(path`topic-permissions/${p.vhost}/${name}/${p.exchange}`)).then(got.refresh)}>${t('users.revoke')}</button></span></td></tr>`,
          )}</tbody></table></div>`
        }</section>
      <section class="card"><h2>${t('users.limits')}</h2><${Limits} at=${path`user-limits/${name}`} names=${['max-connections', 'max-channels']} value=${d.user.limits} changed=${got.refresh} /></section>`}</${Shown}>`;
}

// Tester says whether the user may do something, and which right decides.
function Tester({ permissions, topics }) {
  const [f, set] = useState({ vhost: oneVHost.value, deed: 'publish', queue: '', exchange: '', key: '' });
  const put = (name) => (v) => set({ ...f, [name]: v });
  const p = permissions.find((x) => x.vhost === f.vhost);
  const asks = needs(f.deed, '\u0001', '\u0002');
  const verdicts = judge(p, f.deed, f.queue, f.exchange);
  const byKey = { publish: 'write', bind: 'read' }[f.deed];
  const topic = byKey
    ? topicJudge(
        topics.filter((x) => x.vhost === f.vhost),
        f.exchange,
        byKey,
        f.key,
      )
    : { ok: true, expression: null };
  const may = verdicts.every((v) => v.ok) && topic.ok;
  return html`<section class="card"><h2>${t('tester.title')}</h2>
    <div class="form"><${Select} label=${t('queues.vhost')} value=${f.vhost} onInput=${put('vhost')} options=${vhosts.value} />
      <${Select} label=${t('tester.deed')} value=${f.deed} onInput=${put('deed')} options=${deeds.map((d) => [d, t(`deed.${d}`)])} />
      ${asks.some(([, n]) => n === '\u0001') && html`<${TextField} label=${t('queue.title')} value=${f.queue} onInput=${put('queue')} />`}
      ${asks.some(([, n]) => n === '\u0002') && html`<${TextField} label=${t('exchange.title')} value=${f.exchange} onInput=${put('exchange')} />`}
      ${topic.expression !== null && html`<${TextField} label=${t('publish.key')} hint=${t('tester.key_hint')} value=${f.key} onInput=${put('key')} />`}</div>
    <div role="status"><p class=${`banner ${may ? 'good' : 'bad'}`}><${Icon} name=${may ? 'check' : 'cross'} /> ${!p ? t('tester.no_access') : may ? t('tester.yes') : t('tester.no')}</p>
      <ul>${verdicts.map((v) => html`<li key=${v.right + v.name}><${Icon} name=${v.ok ? 'check' : 'cross'} /> ${v.ok ? t('tester.ok', { right: t(`right.${v.right}`), name: v.name || 'amq.default' }) : t('tester.lacks', { right: t(`right.${v.right}`), name: v.name || 'amq.default' })} ${p && html`<code>${v.expression === '' ? t('users.nothing') : v.expression}</code>`}</li>`)}
      ${topic.expression !== null && html`<li><${Icon} name=${topic.ok ? 'check' : 'cross'} /> ${topic.ok ? t('tester.ok', { right: t('users.topics'), name: f.key }) : t('tester.lacks', { right: t('users.topics'), name: f.key })} <code>${topic.expression === '' ? t('users.nothing') : topic.expression}</code></li>`}</ul></div>
  </section>`;
}

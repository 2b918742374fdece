// One virtual host: who may in, limits, and the options that say how it treats dead letters.
import { html, useState } from '../../lib/html.js';
import { t, num, size, span } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href, up } from '../../lib/router.js';
import { GrantSelf, Shown } from '../../lib/states.js';
import { Icon } from '../../lib/icon.js';
import { attempt, open } from '../../lib/layers.js';
import { NumberField, Select } from '../../lib/form.js';
import { Duration } from '../../lib/duration-fields.js';
import { loadVHosts } from '../../lib/vhosts.js';
import { may, user } from '../../lib/session.js';
import { lacksTag } from '../../lib/rights.js';
import { QueueLink, Stat, Tabs, descriptionOf, optionValue, queueType, yesNo } from './parts.js';
import { setMark } from './queue-role.js';
import { Rights, userLink } from './users.js';
import { Grant } from './user-dialogs.js';
import { EditVHost, removeVHost } from './vhosts.js';
import { Limits } from './limits.js';

// The options: what kind each is.
/** @type {[string, string | string[]][]} */
const options = [
  ['dialect', ['rabbitmq-4', 'rabbitmq-3', 'apsaramq']],
  ['ttl-in-dlq', 'flag'],
  ['ttl-in-loops', 'flag'],
  ['death-total', 'flag'],
  ['reject-reasons', 'flag'],
  ['delivery-limit', 'number'],
  ['hops-max', 'number'],
  ['consumer-timeout', 'ms'],
  ['lost-letters-max-bytes', 'bytes'],
  ['lost-letters-max-age', 'ms'],
  ['sync', ['default', 'always', 'interval', 'never']],
  ['dlx-by-argument-only', 'flag'],
  ['strict-names', 'flag'],
];

export function render({ params: { name }, query }) {
  const got = useData((signal) => api.get(path`vhosts/${name}`, {}, { signal }), [name], {
    on: ['overview'],
    every: 10000,
  });
  const tab = query.tab || 'summary';
  const v = got.data;
  return html`<p class="crumbs"><a href=${up('/vhosts')}>${t('vhosts.title')}</a></p>
    <div class="page-head"><h1>${name}</h1>${
      v &&
      may('administrator') &&
      html`<span class="buttons"><button type="button" onClick=${() => open(EditVHost, { known: v }).then((done) => done && got.refresh())}><${Icon} name="edit" /> ${t('users.change')}</button>
      <button type="button" disabled=${v.protected_from_deletion} title=${v.protected_from_deletion ? t('vhosts.is_protected') : undefined} onClick=${() =>
        removeVHost(v).then((done) => {
          if (done) {
            loadVHosts();
            go('/vhosts', { vhost: '' });
          }
        })}><${Icon} name="discard" /> ${t('queues.delete')}</button></span>`
    }</div>
    <${Shown} of=${got}>${(d) => html`<${Tabs} label=${t('vhosts.tabs')} at=${tab} tabs=${[
      ['summary', t('queue.summary')],
      ['limits', t('vhosts.options_limits')],
    ]} />
      ${tab === 'summary' && html`<${Summary} of=${d} />`}
      ${tab === 'limits' && html`<${Options} name=${name} /><${VHostLimits} name=${name} />`}`}</${Shown}>`;
}

function Summary({ of: v }) {
  const permissions = useData(
    (signal) => (may('administrator') ? api.get(path`vhosts/${v.name}/permissions`, {}, { signal }) : []),
    [v.name],
  );
  return html`<div class="cards"><${Stat} title=${t('queues.ready')} value=${num(v.messages_ready)} /><${Stat} title=${t('queues.unacked')} value=${num(v.messages_unacknowledged)} />
      <${Stat} title=${t('connections.from')} value=${size(v.recv_oct)} /><${Stat} title=${t('connections.to')} value=${size(v.send_oct)} /></div>
    <p class="buttons"><a class="button" href=${href('/queues', { vhost: v.name })}>${t('queues.title')}</a><a class="button" href=${href('/exchanges', { vhost: v.name })}>${t('exchanges.title')}</a><a class="button" href=${href('/policies', { vhost: v.name })}>${t('policies.title')}</a><a class="button" href=${href('/topology', { vhost: v.name })}>${t('topology.title')}</a><a class="button" href=${href('/lint', { vhost: v.name })}>${t('lint.title')}</a></p>
    <section class="card"><dl class="pairs"><dt>${t('vhosts.description')}</dt><dd>${descriptionOf(v) || '–'}</dd><dt>${t('users.tags')}</dt><dd>${v.tags.join(', ') || '–'}</dd><dt>${t('vhosts.default_type')}</dt><dd>${queueType(v.default_queue_type)}</dd></dl></section>
    ${
      may('administrator') &&
      html`<section class="card"><h2>${t('users.permissions')}</h2><${Shown} of=${permissions}>${(all) =>
        html`${
          !all.some((p) => p.user === user.value.name) &&
          html`<p class="banner warn"><${Icon} name="warning" /> ${t('vhosts.not_you', { user: user.value.name, vhost: v.name })}</p><${GrantSelf} vhost=${v.name} done=${permissions.refresh} />`
        }${
          all.length === 0
            ? html`<p>${t('vhosts.nobody')}</p>`
            : html`<div class="table-box small" tabindex="0" role="region" aria-label=${t('users.permissions')}><table class="plain-table"><caption class="hidden">${t('users.permissions')}</caption>
      <thead><tr><th scope="col">${t('users.user')}</th><th scope="col">${t('users.rights')}</th><th scope="col"><span class="hidden">${t('users.change')}</span></th></tr></thead>
      <tbody>${all.map((p) => html`<tr key=${p.user}><th scope="row">${userLink(p.user)}</th><td><${Rights} of=${p} /></td><td><button type="button" class="small" onClick=${() => open(Grant, { user: p.user, vhost: v.name, known: p }).then((done) => done && permissions.refresh())}>${t('users.change')}</button></td></tr>`)}</tbody></table></div>`
        }`}</${Shown}></section>`
    }`;
}

function VHostLimits({ name }) {
  const got = useData(
    async (signal) => (await api.get(path`vhost-limits/${name}`, {}, { signal }))[0]?.value || {},
    [name],
  );
  return html`<${Shown} of=${got}>${(value) => html`<section class="card"><h2>${t('users.limits')}</h2>${lacksTag('administrator') && html`<p class="hint">${t('lacks.read_only', { why: lacksTag('administrator') })}</p>`}<${Limits} disabled=${!may('administrator')} at=${path`vhost-limits/${name}`} names=${['max-connections', 'max-queues']} value=${value} changed=${got.refresh} /></section>`}</${Shown}>`;
}

function Options({ name }) {
  const got = useData(
    async (signal) => {
      const [own, all] = await Promise.all([
        api.get(path`x/options/${name}`, {}, { signal }),
        api.get(path`x/options/${name}`, { effective: true }, { signal }),
      ]);
      return { own, all };
    },
    [name],
    { every: 15000 },
  );
  return html`<${Shown} of=${got}>${(d) => html`<section class="card"><h2>${t('vhosts.options')}</h2><p class="hint">${t('vhosts.options_text')}</p>${lacksTag('policymaker') && html`<p class="hint">${t('lacks.read_only', { why: lacksTag('policymaker') })}</p>`}${options.map(([option, kind]) => html`<${Option} key=${option + JSON.stringify(d.all[option])} vhost=${name} name=${option} kind=${kind} value=${d.all[option]} set=${option in d.own} changed=${got.refresh} />`)}<${Marks} vhost=${name} marks=${d.own['dead-letter-queues'] || {}} changed=${got.refresh} /></section>`}</${Shown}>`;
}

// Marks are the queues that are marked as dead-letter queues, or as none. They are marked on their pages.
function Marks({ vhost, marks, changed }) {
  const all = Object.entries(marks);
  return html`<h3>${t('option.dead-letter-queues')}</h3>${
    all.length === 0
      ? html`<p class="hint">${t('vhosts.no_marks')}</p>`
      : html`<ul>${all.map(
          ([name, is]) =>
            html`<li key=${name}><${QueueLink} vhost=${vhost} name=${name} /> <span class="tag">${t(is ? 'vhosts.is_dlq' : 'vhosts.is_no_dlq')}</span>
      ${may('policymaker') && html`<button type="button" class="small" aria-label=${t('frame.pair', { name: t('queue.unmark'), value: name })} onClick=${async () => (await setMark(vhost, name, null)) && changed()}>${t('queue.unmark')}</button>`}</li>`,
        )}</ul>`
  }`;
}

function shown(name, value, kind) {
  if (kind === 'flag') return yesNo(value);
  if (Array.isArray(kind)) return optionValue(name, value);
  if (kind === 'ms') return value === 0 ? '0' : span(value);
  if (kind === 'bytes') return size(value);
  return String(value);
}

function Option({ vhost, name, kind, value, set, changed }) {
  const [now, change] = useState(value);
  const save = async (e) => {
    e.preventDefault();
    if (
      now !== null &&
      (await attempt(() => api.put(path`x/options/${vhost}`, { [name]: now }), t('vhosts.option_saved', { name })))
    )
      changed();
  };
  const reset = async () =>
    (await attempt(() => api.delete(path`x/options/${vhost}/${name}`), t('vhosts.option_reset', { name }))) &&
    changed();
  const label = t(`option.${name}`);
  const common = {
    label,
    hint: `${name} · ${set ? t('vhosts.option_set') : t('vhosts.option_usual', { value: shown(name, value, kind) })}`,
    value: now,
    onInput: change,
    disabled: !may('policymaker'),
  };
  return html`<form class="one-field" onSubmit=${save}>
    ${
      kind === 'flag'
        ? html`<${Select} ...${common} value=${String(now)} onInput=${(v) => change(v === 'true')} options=${[
            ['true', t('frame_words.yes')],
            ['false', t('frame_words.no')],
          ]} />`
        : Array.isArray(kind)
          ? html`<${Select} ...${common} options=${kind.map((value) => [value, optionValue(name, value)])} />`
          : kind === 'ms'
            ? html`<${Duration} ...${common} onInput=${(v) => change(v ?? null)} />`
            : html`<${NumberField} ...${common} unit=${kind === 'bytes' ? t('create.bytes') : undefined} />`
    }
    <p class="buttons"><button type="submit" class="small" disabled=${now === value || now === null}>${t('policies.save')}</button>${set && may('policymaker') && html`<button type="button" class="small" onClick=${reset}>${t('vhosts.as_usual')}</button>`}</p></form>`;
}

// Definitions: export, and import with what it would do before it is done.
import { html, useState } from '../../lib/html.js';
import { t, num, has } from '../../lib/i18n.js';
import { address, api, path, ask } from '../../lib/api.js';
import { attempt, reasonOf } from '../../lib/layers.js';
import { Action } from '../../lib/action.js';
import { Icon } from '../../lib/icon.js';
import { FileField, Select } from '../../lib/form.js';
import { readText, save } from '../../lib/save.js';
import { Commands, Elsewhere, GrantSelf } from '../../lib/states.js';
import { here } from '../../lib/here.js';
import { importCommands } from '../code/commands.js';
import { vhosts, loadVHosts } from '../../lib/vhosts.js';
import { user } from '../../lib/session.js';
import { compare, givesPassword, readDocument } from './definitions-diff.js';
import { refusal } from './import-refusals.js';
import { leaveOut } from './import-without.js';

const at = (vhost) => (vhost ? path`definitions/${vhost}` : 'definitions');
const kindName = (kind) => (has(`defined.${kind}`) ? t(`defined.${kind}`) : kind);

// check asks what the broker would refuse of a document: a list of reasons, each with its object.
async function check(vhost, document) {
  try {
    await api.post(at(vhost), document, { query: { dry_run: true } });
    return [];
  } catch (error) {
    if (error.status !== 400) throw error;
    return reasonOf(error).split('\n');
  }
}

const shownMost = 20;

// withoutUser are the virtual hosts of a document, or the one that it went into, in which the user has no permissions.
async function withoutUser(document, vhost) {
  const names = vhost ? [vhost] : (document.vhosts || []).map((v) => v.name);
  const own = await api.get(path`users/${user.value.name}/permissions`).catch(() => null);
  return own ? names.filter((name) => !own.some((p) => p.vhost === name)).slice(0, shownMost) : [];
}

// passwordless are the users that a document leaves without a password; one of a virtual host has none.
const passwordless = (document, vhost) =>
  vhost ? [] : (document.users || []).filter((u) => !u.password && !u.password_hash).map((u) => u.name);

// locksOut tells whether an import ends the session: one of a virtual host has no users.
const locksOut = (now, document, vhost) => !vhost && givesPassword(now, document, user.value.name);

// labelText is an object as a refusal names it, in the user's language.
const labelText = (label) => refusal(`${label}: `, t).replace(/[:：]\s*$/, '');

export function render() {
  const [vhost, setVHost] = useState('');
  const [doc, take] = useState(null);
  const [said, say] = useState(null);
  const choices = [['', t('definitions.whole')], ...vhosts.value.map((v) => [v, v])];
  const read = async (file) => {
    say(null);
    take(null);
    if (!file) return;
    const text = await readText(file);
    if (text === null) {
      say({ text: t('definitions.not_utf8') });
      return;
    }
    const got = readDocument(text);
    if (!got.document) {
      const { fault } = got;
      say({
        text: fault ? t(fault.key, { what: t('definitions.file'), ...fault.params }) : t('definitions.no_definitions'),
      });
      return;
    }
    await attempt(async () => {
      const [now, wrong] = await Promise.all([api.get('definitions'), check(vhost, got.document)]);
      take({
        name: file.name,
        document: got.document,
        kinds: compare(now, got.document, vhost || undefined),
        locksOut: locksOut(now, got.document, vhost),
        wrong,
        left: [],
      });
    });
  };
  const drop = () =>
    attempt(async () => {
      const { document, left, refusals } = await leaveOut(doc.document, doc.wrong, vhost, (d) => check(vhost, d));
      const now = await api.get('definitions');
      const kinds = compare(now, document, vhost || undefined);
      take({
        ...doc,
        document,
        kinds,
        locksOut: locksOut(now, document, vhost),
        wrong: refusals,
        left: [...doc.left, ...left],
      });
    });
  const bring = async () => {
    try {
      await api.post(at(vhost), doc.document);
      say({
        good: true,
        text: t('definitions.done', { name: doc.name }),
        passwordless: passwordless(doc.document, vhost),
        without: await withoutUser(doc.document, vhost),
      });
      take(null);
      loadVHosts().catch(() => {});
    } catch (error) {
      say({
        text: reasonOf(error)
          .split('\n')
          .map((text) => refusal(text, t))
          .join('\n'),
      });
    }
  };
  return html`<h1>${t('definitions.title')}</h1><p>${t('definitions.about')}</p>
    <div class="form"><${Select} label=${t('definitions.of')} value=${vhost} onInput=${(v) => {
      setVHost(v);
      take(null);
    }} options=${choices} /></div>
    <div class="grid">
      <section class="card"><h2>${t('definitions.export')}</h2><p class="hint">${t('definitions.export_hint')}</p>
        <p class="buttons"><button type="button" onClick=${() =>
          attempt(async () => {
            const { data } = await ask('GET', at(vhost));
            save(
              `definitions${vhost ? `-${vhost.replace(/[^\w-]+/g, '_')}` : ''}.json`,
              JSON.stringify(data, null, 2),
              'application/json',
            );
          })}><${Icon} name="download" /> ${t('definitions.download')}</button></p></section>
      <section class="card"><h2>${t('definitions.import')}</h2><p class="hint">${t('definitions.import_hint')}</p>
        <${FileField} label=${t('definitions.file')} accept=".json,application/json" onFile=${read} /></section>
      <section class="card"><h2>${t('definitions.backup')}</h2><p class="hint">${t('definitions.backup_text')} <${Elsewhere} file="docs/backup.md">${t('frame.read_more')}</${Elsewhere}></p>
        <p class="buttons"><a class="button" download="bartleby.tar" href=${address('x/backup')}><${Icon} name="download" /> ${t('definitions.download')}</a></p></section>
    </div>
    ${said && html`<section class=${`banner ${said.good ? 'good' : 'bad'}`} role="status"><${Icon} name=${said.good ? 'check' : 'warning'} /> <pre class="break said">${said.text}</pre></section>`}
    ${said?.passwordless?.length > 0 && html`<p class="banner warn break" role="status"><${Icon} name="warning" /> ${t('definitions.passwordless', { n: said.passwordless.length, names: said.passwordless.slice(0, shownMost).join(t('frame.comma')) + (said.passwordless.length > shownMost ? ' …' : '') })}</p>`}
    ${said?.without?.map((name) => html`<div class="banner warn" key=${name}><${Icon} name="warning" /> <div class="said"><p>${t('vhosts.not_you', { user: user.value.name, vhost: name })}</p><${GrantSelf} vhost=${name} done=${() => say((s) => ({ ...s, without: s.without.filter((x) => x !== name) }))} /></div></div>`)}
    ${
      doc &&
      html`<section class="card"><h2>${t('definitions.would', { name: doc.name })}</h2>
      <div class="table-box small" tabindex="0" role="region" aria-label=${t('definitions.would', { name: doc.name })}><table class="plain-table"><caption class="hidden">${t('definitions.would', { name: doc.name })}</caption><thead><tr><th scope="col">${t('definitions.kind')}</th><th scope="col" class="end">${t('definitions.made')}</th><th scope="col" class="end">${t('definitions.changed')}</th><th scope="col" class="end">${t('definitions.kept')}</th><th scope="col" class="end">${t('definitions.same')}</th></tr></thead>
        <tbody>${doc.kinds.map((k) => html`<tr key=${k.kind}><th scope="row">${kindName(k.kind)}</th>${['made', 'changed', 'kept', 'same'].map((w) => html`<td class="end">${num(k[w].length)}</td>`)}</tr>`)}</tbody></table></div>
      ${['changed', 'kept', 'made'].map((w) => doc.kinds.some((k) => k[w].length) && html`<details key=${w} open=${w !== 'made'}><summary>${t(`definitions.list_${w}`, { n: doc.kinds.reduce((n, k) => n + k[w].length, 0) })}</summary><ul>${doc.kinds.flatMap((k) => k[w].slice(0, 200).map((name) => html`<li class="break" key=${k.kind + name}>${t('frame.pair', { name: kindName(k.kind), value: name })}</li>`))}</ul></details>`)}
      ${doc.wrong.length > 0 && html`<div class="banner bad" role="alert"><${Icon} name="warning" /> <div class="said"><p>${t('definitions.refused')}</p><ul>${doc.wrong.map((text) => html`<li class="break">${refusal(text, t)}</li>`)}</ul><p class="buttons"><button type="button" onClick=${drop}>${t('definitions.leave_out')}</button></p></div></div>`}
      ${doc.left.length > 0 && html`<div class="banner warn" role="status"><${Icon} name="warning" /> <div class="said"><p>${t('definitions.left_out', { n: doc.left.length })}</p><ul>${doc.left.map((label) => html`<li class="break">${labelText(label)}</li>`)}</ul><p class="buttons"><button type="button" onClick=${() => save(doc.name, JSON.stringify(doc.document, null, 2), 'application/json')}><${Icon} name="download" /> ${t('definitions.save_rest')}</button></p></div></div>`}
      ${doc.locksOut && html`<p class="banner warn" role="status"><${Icon} name="warning" /> ${t('definitions.own_password', { name: user.value.name })}</p>`}
      <p class="hint">${t('definitions.whole_or_not')}</p>
      <${Commands} commands=${importCommands(here(), vhost, doc.name)} />
      <p class="buttons"><${Action} className="primary" lacks=${doc.wrong.length > 0 && t('definitions.unfit')} onClick=${bring}>${t('definitions.do')}</${Action}><button type="button" onClick=${() => take(null)}>${t('frame.cancel')}</button></p></section>`
    }`;
}

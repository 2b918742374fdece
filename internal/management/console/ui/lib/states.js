// What a page shows while it has nothing, or nothing yet.
import { html, useState, useEffect } from './html.js';
import { lang, t } from './i18n.js';
import { addressOf } from './paths.js';
import { Icon } from './icon.js';
import { Code, Codes } from './code.js';
import { toBroker, typed } from './commands.js';
import { here } from './here.js';
import { api, path } from './api.js';
import { attempt, reasonOf } from './layers.js';
import { hasNone, renewRights } from './rights.js';
import { may, user } from './session.js';

// Loading shows itself only if it takes a while.
export function Loading() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 250);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="skeleton" role="status" aria-label=${t('frame.loading')}>${late && html`<i></i><i></i><i></i>`}</div>`;
}

// Empty teaches: what would be here, how it gets here in five languages of clients and on the command line, and where to
// read more. cli is a command, a list of words.
export function Empty({ title, text, code, cli, docs, children }) {
  return html`<section class="empty">
    <h2>${title}</h2>
    ${text && html`<p>${text}</p>`}
    ${children}
    ${code && html`<${Codes} of=${code} />`}
    ${cli && html`<p class="faint">${t('frame.on_the_command_line')}</p><${Command} words=${cli} />`}
    ${docs && html`<p><${Elsewhere} file=${`docs/${docs}`}>${t('frame.read_more')}</${Elsewhere}></p>`}
  </section>`;
}

// fileAt is the address of a page of the documentation, in the language of the console; Elsewhere is a link to it.
export const fileAt = (file) => addressOf(file, lang());
export function Elsewhere({ file, children }) {
  return html`<a href=${fileAt(file)} class="nowrap" target="_blank" rel="noreferrer noopener">${children} <${Icon} name="external" /></a>`;
}

// Command is a command, or several one after the other, to the broker of the console, for the shells of Linux and Windows; where both are typed the same, it is there
// once.
export function Command({ words, label }) {
  const all = (Array.isArray(words[0]) ? words : [words]).map((w) => typed(toBroker(w, here())));
  const [linux, windows] = ['linux', 'windows'].map((shell) => all.map((lines) => lines[shell]).join('\n'));
  return linux === windows || all.some((lines) => lines.windows === '')
    ? html`<${Code} text=${linux} label=${label} />`
    : html`<${Codes} of=${{ linux, windows }} label=${label} />`;
}

// Commands is what a dialog does, as commands to copy: {ctl, curl}, each one or several, or nothing. of is what they are about,
// where there are several of them.
export function Commands({ commands, of = '' }) {
  return html`<details class="more"><summary>${t('frame.as_command')}${of && html` · ${of}`}</summary>
    ${['ctl', 'curl'].filter((tool) => commands[tool]).map((tool) => html`<p class="hint">${t(`frame.with_${tool}`)}</p><${Command} key=${tool} words=${commands[tool]} label=${t(`frame.with_${tool}`)} />`)}</details>`;
}

// That the broker is not there is said once, above the page.
const role = (error) => (error.status === 0 ? undefined : 'alert');

// Failure shows why something could not be shown: a right that is missing, something that is not there, or a fault with a retry.
export function Failure({ error, retry }) {
  if (error.noRight) {
    const { what, vhost } = error.lack || {};
    return html`<section class="empty" role="alert"><h2>${t('frame.no_right')}</h2><p class="reason">${reasonOf(error)}</p>${
      what === 'vhost' && vhost && may('administrator')
        ? html`<${GrantSelf} vhost=${vhost} done=${retry} />`
        : html`<p>${t('frame.ask_for_right')}</p>`
    }</section>`;
  }
  if (error.missing) {
    return html`<section class="empty" role="alert"><h2>${t('frame.not_there')}</h2><p>${t('frame.not_there_text')}</p></section>`;
  }
  return html`<section class="empty" role=${role(error)}><h2>${t('frame.failed')}</h2><p class="reason">${reasonOf(error)}</p>
    ${retry && html`<button type="button" onClick=${retry}>${t('frame.retry')}</button>`}</section>`;
}

// GrantSelf gives administrators who have no permissions in a virtual host all of them: they may give them to anyone.
export function GrantSelf({ vhost, done }) {
  const { name } = user.value;
  const grant = async () => {
    const all = { configure: '.*', write: '.*', read: '.*' };
    if (
      !(await attempt(
        () => api.put(path`permissions/${vhost}/${name}`, all),
        t('users.granted', { user: name, vhost }),
      ))
    )
      return;
    renewRights();
    done?.();
  };
  return html`<p class="buttons"><button type="button" onClick=${grant}>${t('frame.grant_self', { user: name })}</button></p>`;
}

// NoPermissions says so to administrators on pages of objects, where what they may not do is greyed out, and gives them the permissions.
export function NoPermissions({ vhost }) {
  if (!may('administrator') || !hasNone(vhost)) return null;
  return html`<div class="banner warn"><${Icon} name="warning" /> <div class="said"><p>${t('vhosts.not_you', { user: user.value.name, vhost })}</p><${GrantSelf} vhost=${vhost} /></div></div>`;
}

// Outdated shows that a part of the console did not come.
export function Outdated() {
  return html`<section class="empty" role="alert"><h2>${t('frame.not_loaded')}</h2><p>${t('frame.not_loaded_text')}</p>
    <button type="button" class="primary" onClick=${() => location.reload()}>${t('frame.reload')}</button></section>`;
}

// Shown chooses among these for what useData returned, and shows children(data) if there is some.
export function Shown({ of, children }) {
  if (of.data !== undefined) {
    return html`${of.error && html`<p class="banner bad" role=${role(of.error)}><${Icon} name="warning" /> ${reasonOf(of.error)} <button type="button" onClick=${of.refresh}>${t('frame.retry')}</button></p>`}
      ${children(of.data)}`;
  }
  if (of.error) return html`<${Failure} error=${of.error} retry=${of.refresh} />`;
  return html`<${Loading} />`;
}

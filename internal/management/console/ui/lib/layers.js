// What lies over the page: dialogs and short messages.
import { html, signal, useEffect, useRef, useId, useState } from './html.js';
import { t } from './i18n.js';
import { Icon } from './icon.js';
import { TextField } from './form.js';
import { inWords } from './rights.js';
import { refused } from './permissions.js';
import { route, visits } from './router.js';

const shown = signal([]);
let last = 0;

// open puts a component over the page, which is given {close}; it returns a promise of what close was given.
export function open(Component, props = {}) {
  return new Promise((resolve) => {
    const id = ++last;
    const close = (value) => {
      shown.value = shown.peek().filter((x) => x.id !== id);
      resolve(value);
    };
    shown.value = [...shown.peek(), { id, Component, props: { ...props, close } }];
  });
}

// Dialog is a modal dialog: Esc and the cross close it, and the focus goes back to where it was.
export function Dialog({ title, close, children, actions, wide, className = '' }) {
  const ref = useRef();
  const id = useId();
  useEffect(() => {
    const before = /** @type {HTMLElement} */ (document.activeElement);
    const el = ref.current;
    el.showModal();
    el.querySelector('[autofocus]')?.focus();
    return () => {
      if (el.open) el.close();
      const to = before && before !== document.body && before.isConnected ? before : document.getElementById('main');
      to?.focus({ preventScroll: true });
    };
  }, []);
  return html`<dialog ref=${ref} class=${`dialog ${wide ? 'wide' : ''} ${className}`} aria-labelledby=${id}
    onCancel=${(e) => {
      e.preventDefault();
      close();
    }}>
    <header><h2 id=${id}>${title}</h2>
      <button type="button" class="plain" onClick=${() => close()} aria-label=${t('frame.close')}><${Icon} name="cross" /></button></header>
    <div class="dialog-body">${children}</div>
    ${actions && html`<footer>${actions}</footer>`}
  </dialog>`;
}

function Confirm({ close, title, text, action, dismiss, danger, typed, children }) {
  const [said, say] = useState('');
  const ready = !typed || said === String(typed);
  return html`<${Dialog} title=${title} close=${() => close(false)} actions=${html`
    <button type="button" onClick=${() => close(false)}>${dismiss || t('frame.cancel')}</button>
    <button type="submit" form="confirm" class=${danger ? 'danger' : 'primary'} disabled=${!ready}>${action}</button>`}>
    <form id="confirm" onSubmit=${(e) => {
      e.preventDefault();
      if (ready) close(true);
    }}>
      <p>${text}</p>${children}
      ${typed && html`<${TextField} label=${t('frame.type_to_confirm', { what: typed })} value=${said} onInput=${say} autofocus autocomplete="off" />`}
    </form>
  </${Dialog}>`;
}

// confirm asks before something is done: {title, text, action, dismiss, danger, typed}. What is typed has to be typed in; dismiss is the
// button that leaves things as they are, where its usual word would be unclear.
export const confirm = (props) => open(Confirm, props);

const toasts = signal([]);

// toast says something short: what was done, or why not. Kinds: good, bad, note.
export function toast(text, kind = 'good', action) {
  const id = ++last;
  toasts.value = [...toasts.peek(), { id, text, kind, action, form: form() }].slice(-4);
  if (kind !== 'bad') setTimeout(() => drop(id), 6000);
}
const drop = (id) => {
  toasts.value = toasts.peek().filter((x) => x.id !== id);
};

// form is where something is done: in the dialog on top, or in the page.
const form = () => shown.peek().at(-1)?.id;

// dropBad takes what went wrong away: in a form, or everywhere.
function dropBad(from) {
  const left = toasts.peek().filter((x) => x.kind !== 'bad' || (from && x.form !== from.form));
  if (left.length < toasts.peek().length) toasts.value = left;
}

// attempt does something and says how it went; it returns whether it went well. Then what went wrong before in the same form is
// said no more.
export async function attempt(what, done) {
  const from = { form: form() };
  try {
    const answer = await what();
    dropBad(from);
    if (done) toast(typeof done === 'function' ? done(answer) : done);
    return true;
  } catch (error) {
    if (error.name !== 'AbortError') toast(reasonOf(error), 'bad');
    return false;
  }
}

// reasonOf is a refusal in words.
export function reasonOf(error) {
  if (error.status === 0) return t('frame.unreachable');
  return inWords(error.noRight && refused(error.lack)) || error.reason || error.message || String(error);
}

export function Layers() {
  const { path } = route.value;
  useEffect(
    () => () => {
      shown.peek().forEach((x) => x.props.close());
      dropBad();
    },
    [path, visits.value],
  );
  useEffect(() => {
    const escape = (e) => {
      if (e.key !== 'Escape' || !toasts.peek().some((x) => x.kind === 'bad')) return;
      dropBad();
      if (!shown.peek().length) e.preventDefault(); // of a page, which would be left
    };
    addEventListener('keydown', escape, true);
    return () => removeEventListener('keydown', escape, true);
  }, []);
  return html`${shown.value.map(({ id, Component, props }) => html`<${Component} key=${id} ...${props} />`)}
    <div class="toasts" role="status" aria-live="polite">
      ${toasts.value.map(
        ({ id, text, kind, action }) => html`<div key=${id} class=${`toast ${kind}`}>
        <${Icon} name=${kind === 'bad' ? 'warning' : 'check'} /><span>${text}</span>
        ${
          action &&
          html`<button type="button" onClick=${() => {
            drop(id);
            action.run();
          }}>${action.title}</button>`
        }
        <button type="button" class="plain" onClick=${() => drop(id)} aria-label=${t('frame.close')}><${Icon} name="cross" /></button>
      </div>`,
      )}
    </div>`;
}

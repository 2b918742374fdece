// What lies over the page: dialogs and short messages.
import { html, signal, useEffect, useLayoutEffect, useRef, useId, useState } from './html.js';
import { t } from './i18n.js';
import { announced, begin } from './focus.js';
import { Icon } from './icon.js';
import { TextField } from './form.js';
import { Action } from './action.js';
import { inWords } from './rights.js';
import { refused } from './permissions.js';
import { beforeTravel, hold, letGo, route, visits } from './router.js';

const shown = signal([]);
const faults = signal([]); // what the broker refused in dialogs: {layer, text}
const drafts = new Map(); // fields of dialogs that were typed into, by layer: what was in each before
let last = 0;

// top is the dialog on top; undefined if there is none.
const top = () => shown.value.at(-1)?.id;
const dropFault = (layer) => {
  faults.value = faults.peek().filter((x) => x.layer !== layer);
};

// open puts a component over the page, which is given {close}; it returns a promise of what close was given.
export function open(Component, props = {}) {
  return new Promise((resolve) => {
    const id = ++last;
    announced.value = ''; // else it would be a part of the dialog
    const close = (value) => {
      shown.value = shown.peek().filter((x) => x.id !== id);
      dropFault(id);
      drafts.delete(id);
      resolve(value);
    };
    shown.value = [...shown.peek(), { id, Component, props: { ...props, close } }];
  });
}

const fields = 'input:not([type=radio]:not(:checked)), select, textarea';
const editable = (el) => !el.disabled && !el.readOnly;

// keepBefore remembers what is in a field before something is typed into it.
function keepBefore(layer, field) {
  if (!drafts.has(layer)) drafts.set(layer, new Map());
  if (!drafts.get(layer).has(field)) drafts.get(layer).set(field, field.value);
}

// keep says that what was typed into the dialog on top is done with: closing it loses nothing.
export const keep = () => drafts.delete(top());

// isDraft tells whether something was typed into a dialog that is not there any more if it closes.
const isDraft = (layer) => [...(drafts.get(layer) || [])].some(([field, before]) => field.value !== before);

// Dialog is a modal dialog: Esc and the cross close it, Ctrl+Enter is its button, and the focus goes back to where it was. What the
// broker refused meanwhile is shown above its buttons. What was typed into it is not lost without a question, unless that is light.
export function Dialog({ title, close, children, actions, wide, light = false, className = '' }) {
  const ref = useRef();
  const id = useId();
  const layer = useRef(top()).current;
  useEffect(() => {
    const before = /** @type {HTMLElement} */ (document.activeElement);
    const el = ref.current;
    el.showModal();
    const first = [...el.querySelectorAll('.dialog-body :is(input, select, textarea)')];
    const field = el.querySelector('[autofocus]') || first.find((x) => x.matches(fields) && editable(x));
    const body = el.querySelector('.dialog-body');
    begin(field || body); // not the cross, which comes first: Enter would close the dialog
    // A first field that is loaded gets the focus when it is there, unless somebody has begun elsewhere.
    const late = new MutationObserver(() => {
      const first = el.querySelector('[autofocus]');
      if (first && first !== document.activeElement) begin(first);
      if (first) late.disconnect();
    });
    const begun = () => late.disconnect();
    if (!el.querySelector('[autofocus]')) late.observe(body, { childList: true, subtree: true });
    for (const deed of ['keydown', 'pointerdown']) el.addEventListener(deed, begun, { once: true });
    let height = 0;
    const lower = new ResizeObserver(() => {
      const at = document.activeElement;
      if (body.clientHeight < height && at !== body && body.contains(at)) at.scrollIntoView({ block: 'nearest' });
      height = body.clientHeight; // lower: what is said beside the buttons takes from it
    });
    lower.observe(body);
    return () => {
      lower.disconnect();
      begun();
      if (el.open) el.close();
      const to = before && before !== document.body && before.isConnected ? before : document.getElementById('main');
      to?.focus({ preventScroll: true });
    };
  }, []);
  const fault = faults.value.find((x) => x.layer === layer);
  useEffect(() => {
    const field = fault && quotedField(ref.current, fault.text);
    if (!field) return undefined;
    const before = field.getAttribute('aria-describedby');
    field.setAttribute('aria-invalid', 'true');
    field.setAttribute('aria-describedby', [before, `${id}-fault`].filter(Boolean).join(' '));
    field.focus();
    return () => {
      field.removeAttribute('aria-invalid');
      if (before) field.setAttribute('aria-describedby', before);
      else field.removeAttribute('aria-describedby');
    };
  }, [fault]);
  const asking = useRef(false);
  const leave = async () => {
    if (asking.current) return;
    asking.current = true;
    const stays = !light && isDraft(layer) && !(await confirm(closeDraft()));
    asking.current = false;
    const el = ref.current;
    if (!el) return; // the page has gone meanwhile
    if (!stays) close();
    else if (!el.open) el.showModal();
  };
  return html`<dialog ref=${ref} class=${`dialog ${wide ? 'wide' : ''} ${className}`} aria-labelledby=${id}
    onInput=${() => fault && dropFault(layer)} onbeforeinput=${(e) => !light && keepBefore(layer, e.target)}
    onKeyDown=${(e) => {
      if (e.key !== 'Enter' || !(e.ctrlKey || e.metaKey)) return;
      e.preventDefault();
      ref.current.querySelector('footer :is([type=submit], .primary, .danger)')?.click();
    }}
    onCancel=${(e) => {
      if (e.target !== e.currentTarget) return; // that of a file field
      e.preventDefault();
      leave();
    }} onClose=${() => ref.current?.open === false && leave()}>
    <header><h2 id=${id}>${title}</h2>
      <button type="button" class="plain" onClick=${leave} aria-label=${t('frame.close')}><${Icon} name="cross" /></button></header>
    <div class="dialog-body" tabindex="-1">${children}</div>
    ${fault && html`<p class="banner bad fault" role="alert" id=${`${id}-fault`}><${Icon} name="warning" /> <span>${fault.text}</span></p>`}
    <${Toasts} on=${layer} />
    ${actions && html`<footer>${actions}</footer>`}<p class="hidden" role="status">${layer === top() && announced.value}</p>
  </dialog>`;
}

const cancel = (dialog) => dialog.dispatchEvent(new Event('cancel', { cancelable: true }));

// Cancel is the button that closes the dialog around it, as Esc does.
export function Cancel({ children }) {
  return html`<button type="button" onClick=${(e) => cancel(e.target.closest('dialog'))}>${children || t('frame.cancel')}</button>`;
}

const hasDrafts = () => [...drafts.keys()].some(isDraft);
const leaveDraft = () =>
  confirm({ ...closeDraft(), title: t('frame.leave_draft_title'), action: t('frame.leave_draft') });

// So does Back of the browser, with the dialog on top. Other ways to another page, such as Ctrl K, ask.
beforeTravel(
  () => {
    const dialog = [...document.querySelectorAll('dialog.dialog')].at(-1);
    if (dialog) cancel(dialog);
    return !!dialog;
  },
  () => (hasDrafts() ? leaveDraft : null),
);

// The browser asks in its own words before it leaves the console, with all that was typed into dialogs.
addEventListener('beforeunload', (e) => {
  if (hasDrafts()) e.preventDefault();
});

const closeDraft = () => ({
  title: t('frame.close_draft_title'),
  text: t('frame.close_draft_text'),
  action: t('frame.close_draft'),
  dismiss: t('frame.keep_draft'),
  danger: true,
});

// useDraft is for a form that is a page: if what it holds is not as it was at first, it is not lost without a question, unless
// letGo says that it is saved. Null is nothing, undefined a text that is no value. of are the names in the query that say what it is about.
export function useDraft(holds, of = []) {
  const now = JSON.stringify(holds, (_, v) => (v === undefined ? 0 : (v ?? undefined)));
  const before = useRef(now);
  const changed = now !== before.current;
  useLayoutEffect(() => {
    if (!changed) return undefined;
    hold(leaveDraft, of);
    return letGo;
  }, [changed]);
}

// quotedField is the field of a dialog with a value that a refusal quotes: no queue 'orders' in vhost '/'.
function quotedField(dialog, text) {
  const quoted = [...text.matchAll(/'([^']+)'|“([^”]+)”/g)].map((m) => m[1] ?? m[2]);
  const all = [...dialog.querySelectorAll('input[type=text], input[type=search], textarea')].filter(editable);
  return quoted.map((value) => all.find((x) => x.value === value)).find(Boolean);
}

function Confirm({ close, title, text, action, dismiss, danger, typed, children }) {
  const [said, say] = useState('');
  const ready = !typed || said === String(typed);
  return html`<${Dialog} title=${title} close=${() => close(false)} light actions=${html`
    <button type="button" autofocus=${!typed} onClick=${() => close(false)}>${dismiss || t('frame.cancel')}</button>
    <${Action} type="submit" form="confirm" className=${danger ? 'danger' : 'primary'} lacks=${ready ? '' : t('frame.type_to_confirm', { what: typed })}>${action}</${Action}>`}>
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
  const others = toasts.peek().filter((x) => x.text !== text || x.kind !== kind); // once is enough
  toasts.value = [...others, { id, text, kind, action, form: form() }].slice(-4);
  const leave = () => (document.querySelector('.toasts :focus') ? setTimeout(leave, 3000) : drop(id));
  if (kind !== 'bad') setTimeout(leave, 6000);
}
const drop = (id) => {
  toasts.value = toasts.peek().filter((x) => x.id !== id);
};

// dropToasts takes all of them away: who logs in next has nothing to do with them.
export function dropToasts() {
  toasts.value = [];
}

// form is where something is done: in the dialog on top, or in the page.
const form = () => shown.peek().at(-1)?.id;

// dropBad takes what went wrong away: in a form, or everywhere.
function dropBad(from) {
  const left = toasts.peek().filter((x) => x.kind !== 'bad' || (from && x.form !== from.form));
  if (left.length < toasts.peek().length) toasts.value = left;
}

// attempt does something and says how it went; it returns whether it went well. Then what went wrong before in the same form is
// said no more. done is a text, a text and the kind of its toast, or what makes one of them of the answer.
export async function attempt(what, done) {
  const from = { form: form() };
  try {
    const answer = await what();
    dropBad(from);
    dropFault(from.form);
    drafts.delete(from.form);
    const [text, kind] = [typeof done === 'function' ? done(answer) : done].flat();
    if (text) toast(text, kind);
    return true;
  } catch (error) {
    if (error.name !== 'AbortError') refuse(error, from.form);
    return false;
  }
}

// refuse says what the broker refused: in the dialog where it was asked for, or beside the page.
export function refuse(error, layer = form()) {
  const text = reasonOf(error);
  if (!shown.peek().some((x) => x.id === layer)) return toast(text, 'bad');
  faults.value = [...faults.peek().filter((x) => x.layer !== layer), { layer, text }];
}

// reasonOf is a refusal in words.
export function reasonOf(error) {
  if (error.status === 0) return t('frame.unreachable');
  return inWords(error.noRight && refused(error.lack)) || error.reason || error.message || String(error);
}

export function Layers() {
  const { path } = route.value;
  // A page that is left takes its dialogs with it at once, not after the next one was drawn: a dialog that opens in between is of that.
  useLayoutEffect(
    () => () => {
      shown.peek().forEach((x) => x.props.close());
      dropBad();
      announced.value = ''; // what is to come is said in the next page
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
    <${Toasts} /><p class="hidden" id="announced" role="status">${announced.value}</p>`;
}

// Toasts are in the dialog on top, if there is one: what is outside of it is dimmed, and not read to anybody. What was done before the
// dialog was opened has nothing to do with it.
function Toasts({ on }) {
  const here = on === top() ? toasts.value.filter((x) => !on || x.id > on || x.kind === 'bad') : [];
  return html`<div class="toasts" role="status" aria-live="polite">
      ${here.map(
        ({ id, text, kind, action }) => html`<div key=${id} class=${`toast ${kind}`}>
        <${Icon} name=${kind === 'good' ? 'check' : 'warning'} /><div><span>${text}</span> ${
          action &&
          html`<button type="button" onClick=${() => {
            drop(id);
            action.run();
          }}>${action.title}</button>`
        }</div>
        <button type="button" class="plain" onClick=${() => drop(id)} aria-label=${t('frame.dismiss')}><${Icon} name="cross" /></button>
      </div>`,
      )}
    </div>`;
}

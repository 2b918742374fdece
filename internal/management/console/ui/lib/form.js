// Fields of forms: each with a label, a hint and what is wrong with it, tied together for those who do not see.
import { html, useEffect, useId, useRef, useState } from './html.js';
import { begin } from './focus.js';
import { Icon } from './icon.js';

const pause = 800; // ms without a change after which the error of a field that is typed into is said

// useCalm is an error of the field of that id, once whoever types there pauses: each key may have another.
function useCalm(error, id) {
  const [calm, set] = useState(error);
  useEffect(() => {
    const timer = setTimeout(() => set(error), error && document.activeElement?.id === id ? pause : 0);
    return () => clearTimeout(timer);
  }, [error]);
  return error && calm;
}

// Field puts a label, a hint, a warning and an error around a control, which children(attributes) makes. What is warned of can be meant.
// meaning is how its text is understood; '' keeps a place for it.
export function Field({ label, hint, warning, error, meaning, children, className = '' }) {
  const id = useId();
  const fault = useCalm(error, id);
  const doubt = useCalm(warning, id);
  const all = { meaning, hint, warning: doubt, error: fault };
  const about = Object.keys(all)
    .filter((name) => all[name])
    .map((name) => `${id}-${name}`)
    .join(' ');
  const attributes = { id, 'aria-describedby': about || undefined, 'aria-invalid': error ? 'true' : undefined };
  return html`<div class=${`field ${className} ${error ? 'wrong' : ''}`}>
    <label for=${id}>${label}</label>
    ${children(attributes)}
    ${meaning !== undefined && html`<p class="meaning" id=${`${id}-meaning`}>${meaning}</p>`}
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
    ${doubt && html`<p class="warning" id=${`${id}-warning`} role="alert"><${Icon} name="warning" /> ${doubt}</p>`}
    ${fault && html`<p class="error" id=${`${id}-error`} role="alert">${fault}</p>`}
  </div>`;
}

// TextField: onInput is given the text. list is what to suggest. autofocus works on each page, not only on the first as that of browsers.
export function TextField({
  label,
  hint,
  warning,
  error,
  value,
  onInput,
  list,
  className,
  autofocus = false,
  ...rest
}) {
  const suggestions = useId();
  const input = useRef(null);
  useEffect(() => {
    if (autofocus) begin(input.current);
  }, []);
  return html`<${Field} ...${{ label, hint, warning, error, className }}>${(a) => html`
    <input type="text" ...${a} ref=${input} autofocus=${autofocus} value=${value ?? ''} onInput=${(e) => onInput(e.target.value)} list=${list ? suggestions : undefined} spellcheck="false" ...${rest} />
    ${list && html`<datalist id=${suggestions}>${list.map((x) => html`<option value=${x} />`)}</datalist>`}`}
  </${Field}>`;
}

// NumberField: onInput is given a number, or null for nothing.
export function NumberField({ label, hint, error, value, onInput, unit, className, ...rest }) {
  return html`<${Field} ...${{ label, hint, error, className }}>${(a) => html`<span class="with-unit">
    <input type="number" inputmode="numeric" ...${a} value=${value ?? ''} onInput=${(e) => onInput(e.target.value === '' ? null : Number(e.target.value))} ...${rest} />
    ${unit && html`<span class="unit">${unit}</span>`}</span>`}
  </${Field}>`;
}

export function TextArea({ label, hint, error, value, onInput, className, ...rest }) {
  return html`<${Field} ...${{ label, hint, error, className }}>${(a) => html`
    <textarea ...${a} value=${value ?? ''} onInput=${(e) => onInput(e.target.value)} spellcheck="false" rows="8" ...${rest}></textarea>`}
  </${Field}>`;
}

// Select: options are [value, text] or values.
export function Select({ label, hint, error, value, onInput, options, className, ...rest }) {
  return html`<${Field} ...${{ label, hint, error, className }}>${(a) => html`
    <select ...${a} value=${value} onChange=${(e) => onInput(e.target.value)} ...${rest}>
      ${options.map((o) => (Array.isArray(o) ? o : [o, o])).map(([v, text]) => html`<option value=${v} selected=${v === value}>${text}</option>`)}
    </select>`}
  </${Field}>`;
}

export function Check({ label, hint, value, onInput, ...rest }) {
  const id = useId();
  return html`<div class="check">
    <input type="checkbox" id=${id} checked=${!!value} onChange=${(e) => onInput(e.target.checked)} aria-describedby=${hint ? `${id}-hint` : undefined} ...${rest} />
    <label for=${id}>${label}</label>
    ${hint && html`<p class="hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

// Radios: options are [value, text, hint].
export function Radios({ label, value, onInput, options }) {
  const name = useId();
  return html`<fieldset class="radios"><legend>${label}</legend>
    ${options.map(
      ([v, text, hint]) => html`<div class="check" key=${v}>
      <input type="radio" name=${name} id=${name + v} checked=${v === value} onChange=${() => onInput(v)} aria-describedby=${hint ? `${name}${v}-hint` : undefined} />
      <label for=${name + v}>${text}</label>
      ${hint && html`<p class="hint" id=${`${name}${v}-hint`}>${hint}</p>`}
    </div>`,
    )}
  </fieldset>`;
}

// FileField hands over the file that is chosen. The same one may be chosen again, when it has been corrected: the browser would not
// tell that, so what was chosen before is taken out of the field, and put back if nothing is chosen.
export function FileField({ label, hint, accept, onFile, required }) {
  const before = useRef(null);
  return html`<${Field} label=${label} hint=${hint}>${(
    a,
  ) => html`<input type="file" accept=${accept} required=${required} ...${a}
    onClick=${(e) => {
      before.current = e.target.files;
      e.target.value = '';
    }}
    onCancel=${(e) => {
      if (before.current?.length) e.target.files = before.current;
    }}
    onChange=${(e) => onFile(e.target.files[0] || null)} />`}</${Field}>`;
}

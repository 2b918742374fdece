// Fields of forms in which a duration is typed: 15m, 1h30m, 90s, or plain milliseconds.
import { html, useEffect, useRef, useState } from './html.js';
import { exact, t } from './i18n.js';
import { durationText, plainSteps, readDuration, readSteps } from './duration.js';
import { Field } from './form.js';
import { announce } from './focus.js';

const pause = 800; // ms without a change after which it is announced how a text is understood

// Typed is a text that has to be read: read(text) gives {value} or {error}, which is shown when the field is left, and keeps a form from being
// sent. write(value) is a text of it. needed is what is said of no text, where one is needed. onInput is given the value, null for no text, and
// undefined for a text that is none. meaning(value) is what was understood.
function Typed({ label, hint, error, needed, value, onInput, read, write, meaning, className, ...rest }) {
  const [typed, type] = useState(() => write(value));
  const [left, leave] = useState(false);
  const input = useRef(null);
  const known = value ?? null;
  const is = (text) => (text.trim() === '' ? { value: null, error: needed } : read(text));
  const text = (is(typed).value ?? null) === known ? typed : write(value); // changed elsewhere
  const now = is(text);
  useEffect(() => input.current.setCustomValidity(now.error ?? ''), [now.error]);
  const change = (e) => {
    type(e.target.value);
    onInput(is(e.target.value).value);
  };
  const understood = now.error || now.value === null ? '' : meaning(now.value);
  const heard = useRef(understood);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (heard.current !== understood && document.activeElement === input.current) announce(understood);
      heard.current = understood;
    }, pause);
    return () => clearTimeout(timer);
  }, [understood]);
  const shown = now.error ? left && now.error : error;
  return html`<${Field} ...${{ label, hint, className, error: shown }} meaning=${understood}>${(a) => html`
    <input type="text" autocomplete="off" spellcheck="false" ...${a} ref=${input} value=${text} onInput=${change} onBlur=${() => leave(true)} onInvalid=${() => leave(true)} ...${rest} />`}
  </${Field}>`;
}

const wrong = (got) => ({ error: t(got.error, got.params) });

// Duration: value in ms, or null; undefined for a text that is none. min and max are ms.
export function Duration({ value, min = 0, max = Infinity, ...rest }) {
  const read = (text) => {
    const got = readDuration(text, true);
    if (got.error) return wrong(got);
    if (got.ms < min) return { error: t('duration.short', { least: exact(min) }) };
    if (got.ms > max) return { error: t('duration.most', { most: exact(max) }) };
    return { value: got.ms };
  };
  return html`<${Typed} ...${rest} value=${value} read=${read} write=${durationText} meaning=${(ms) => t('duration.is', { time: exact(ms) })} placeholder="1h30m" />`;
}

// Steps is a list of durations: value as text, or null; undefined for a text that is none.
export function Steps({ value, ...rest }) {
  const read = (text) => {
    const got = readSteps(text);
    return got.error ? wrong(got) : { value: plainSteps(text) };
  };
  const meaning = (text) => t('duration.is', { time: readSteps(text).steps.map(exact).join(t('frame.comma')) });
  return html`<${Typed} ...${rest} value=${value} read=${read} write=${(text) => text ?? ''} meaning=${meaning} placeholder="1s, 5s, 30s" />`;
}

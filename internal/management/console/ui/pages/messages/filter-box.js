// The field for filters: terms as chips, suggestions while typing, saved searches.
import { html, signal, useEffect, useId, useRef, useState } from '../../lib/html.js';
import { has, t } from '../../lib/i18n.js';
import { Icon } from '../../lib/icon.js';
import { route } from '../../lib/router.js';
import { pref } from '../../lib/store.js';
import { useShortcuts } from '../../lib/keys.js';
import { composing, toRows } from '../../lib/focus.js';
import { and, fields, inTerms, split, suggest, without } from './filter.js';

const saved = pref('filters', []);
const refusal = signal(''); // the filter that the broker refused last

// useRefusal tells the field of the error of a list, which may be that its filter is refused.
export function useRefusal(error) {
  useEffect(() => {
    if (error?.status === 400) refusal.value = route.value.query.filter || '';
  }, [error]);
}

// gloss is what a field is called, or the value of a field that has words of its own.
function gloss(field, value) {
  if (value === undefined) return t(`field.${field}`);
  const key = `${field.replace('first-', '')}.${value}`;
  return has(key) ? t(key) : '';
}

// titles are those of columns that are fields, by the keys of their texts.
const titles = {
  'letters.reason': 'reason',
  'redrive.queue': 'queue',
  'letters.source': 'source',
  'letters.exchange': 'exchange',
  'letters.key': 'key',
  'letters.message_id': 'message-id',
  'letters.state': 'state',
  'letters.size': 'size',
};

// called is what the page calls fields and their values, as inTerms wants it.
const called = () => ({
  fields: [
    ...fields.filter(([f]) => !f.endsWith('.')).map(([f]) => [gloss(f), f]),
    ...Object.entries(titles).map(([key, f]) => [t(key), f]),
  ],
  values: fields.flatMap(([f, values]) => values.filter((v) => gloss(f, v)).map((v) => [gloss(f, v), f, v])),
});

// FilterBox shows filter; change is given another one, which is what was typed once Enter or the button is pressed, and until then it
// says that this does not count yet. known are names to suggest, by field; example is one, in words.
export function FilterBox({ filter, change, known, error, example = t('filter.placeholder') }) {
  const [text, setText] = useState('');
  const [offers, setOffers] = useState([]);
  const [at, setAt] = useState(-1);
  const input = useRef();
  const id = useId();
  const [tried, setTried] = useState(null); // what was typed last: {before, text, filter}, the filters before it and with it
  const refused = tried?.filter === filter && refusal.value === filter; // what was typed last can be put right where it was typed
  const base = refused ? tried.before : filter;
  const chips = split(base);
  useEffect(() => {
    if (refused) setText((now) => (now ? `${tried.text} ${now}` : tried.text));
  }, [refused]);
  useShortcuts({ '/': ['keys.filter', () => input.current.focus()] });
  useEffect(() => setAt(-1), [text]);
  const offer = (value, cursor) =>
    setOffers(document.activeElement === input.current ? suggest(value, cursor, known, gloss, called().fields) : []);
  const take = (o) => {
    const next = text.slice(0, o.start) + o.term + text.slice(o.end);
    if (/[:.]$/.test(o.term)) {
      setText(next);
      requestAnimationFrame(() => offer(next, next.length));
    } else {
      apply(next);
    }
    input.current.focus();
  };
  const apply = (typed) => {
    setOffers([]);
    if (!typed.trim() && !refused) return;
    setText('');
    const next = split(inTerms(typed, called())).reduce((f, x) => and(f, x.text), base);
    if (typed.trim()) setTried({ before: base, text: typed, filter: next });
    if (next === filter && refused)
      setText(typed); // the same again
    else change(next);
  };
  const commit = () => apply(text);
  const pending = text.trim() !== '' && !(refused && text === tried.text);
  const drop = (rest) => {
    change(rest);
    input.current.focus(); // the button goes
  };
  const key = (e) => {
    if (composing(e)) return;
    if (e.key === 'ArrowDown' && offers.length) setAt((at + 1) % offers.length);
    else if (e.key === 'ArrowUp' && offers.length) setAt((at + offers.length - 1) % offers.length);
    else if (e.key === 'Enter') at >= 0 ? take(offers[at]) : commit();
    else if (e.key === 'Tab' && at >= 0) take(offers[at]);
    else if (e.key === 'Escape') offers.length ? setOffers([]) : toRows();
    else if (e.key === 'Backspace' && !text && chips.length) {
      setText(chips.at(-1).text);
      change(without(base, chips.length - 1));
    } else return;
    e.preventDefault();
  };
  return html`<div class="filter-box">
    <div class=${`filter-field ${error ? 'wrong' : ''} ${pending ? 'pending' : ''}`}>
      <${Icon} name="filter" />
      ${chips.map(
        (c, i) => html`<span class=${`chip ${c.not ? 'not' : ''}`} key=${c.text}>
        <span>${c.not && html`<b>${t('filter.not')} </b>`}${c.field && html`<b>${c.field}</b> `}${c.value}</span>
        <button type="button" class="plain" aria-label=${t('filter.remove', { term: c.text })} onClick=${() => drop(without(base, i))}><${Icon} name="cross" /></button></span>`,
      )}
      <input type="text" ref=${input} role="combobox" aria-label=${t('filter.label')} aria-expanded=${offers.length > 0} aria-controls=${id} aria-autocomplete="list"
        aria-activedescendant=${at >= 0 ? `${id}-${at}` : undefined} aria-invalid=${error ? 'true' : undefined} aria-describedby=${pending ? `${id}-pending` : undefined} placeholder=${chips.length ? '' : example} value=${text} spellcheck="false" autocomplete="off"
        onInput=${(e) => {
          setText(e.target.value);
          offer(e.target.value, e.target.selectionStart);
        }} onKeyDown=${key} onFocus=${() => offer(text, text.length)}
        onBlur=${() => setOffers([])} />
      ${
        pending &&
        html`<span class="hint" id=${`${id}-pending`}>${t('filter.pending')}</span>
      <button type="button" class="small" onClick=${() => {
        commit();
        input.current.focus(); // the button goes
      }}>${t('filter.apply')}</button>`
      }
      ${
        filter &&
        html`<button type="button" class="plain" onClick=${() => {
          setText('');
          drop('');
        }} aria-label=${t('filter.clear')} title=${t('filter.clear')}><${Icon} name="cross" /></button>`
      }
      <${Saved} filter=${filter} change=${change} />
    </div>
    <ul role="listbox" id=${id} class="offers" tabindex="-1" aria-label=${t('filter.suggestions')} hidden=${offers.length === 0}>
      ${offers.map(
        (o, i) =>
          html`<li role="option" id=${`${id}-${i}`} aria-selected=${i === at} onMouseDown=${(e) => {
            e.preventDefault();
            take(o);
          }}><code>${o.term}</code>${o.gloss && html` <small class="faint">${o.gloss}</small>`}</li>`,
      )}
    </ul>
    ${error && html`<p class="error" role="alert">${error}</p>`}
  </div>`;
}

function Saved({ filter, change }) {
  return html`<details class="menu"><summary aria-label=${t('filter.saved')} title=${t('filter.saved')}><${Icon} name="note" /></summary>
    <div>${saved.value.length === 0 && html`<p class="faint">${t('filter.none_saved')}</p>`}
      ${saved.value.map(
        (
          f,
        ) => html`<span class="buttons" key=${f}><button type="button" onClick=${() => change(f)}><code>${f}</code></button>
        <button type="button" class="plain" aria-label=${t('filter.forget', { filter: f })} onClick=${() => {
          saved.value = saved.value.filter((x) => x !== f);
        }}><${Icon} name="cross" /></button></span>`,
      )}
      <button type="button" disabled=${!filter || saved.value.includes(filter)} onClick=${() => {
        saved.value = [...saved.value, filter].slice(-30);
      }}>${t('filter.save')}</button></div></details>`;
}

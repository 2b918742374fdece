// Instants as people read them.
import { html } from './html.js';
import { ago, dateTime, utc } from './i18n.js';
import { now } from './live.js';

// Ago is an instant as seen from now, with its date and time, here and in UTC, behind it; say puts words around it.
export function Ago({ at, say = (time) => time }) {
  if (!at) return html`<span class="faint">–</span>`;
  return html`<time datetime=${new Date(at).toISOString()} title=${`${dateTime(at)}\n${utc(at)}`}>${say(ago(at, Math.max(now.value, Date.now())))}</time>`;
}

// When is an instant in full.
export function When({ at }) {
  if (!at) return html`<span class="faint">–</span>`;
  return html`<time datetime=${new Date(at).toISOString()} title=${utc(at)}>${dateTime(at)}</time>`;
}

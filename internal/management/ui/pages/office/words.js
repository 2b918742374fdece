// Small marks: why a letter died, in what state it is.
import { html } from '../../lib/html.js';
import { word } from '../../lib/i18n.js';
import { Icon } from '../../lib/icon.js';

export function Reason({ reason, count }) {
  if (!reason) return html`<span class="faint">–</span>`;
  return html`<span class=${`tag reason-${reason}`} title=${reason}><${Icon} name=${reason} />${word('reason', reason)}${count > 1 && html` <b>×${count}</b>`}</span>`;
}

export function State({ state }) {
  return html`<span class=${`tag ${state === 'lost' ? 'bad' : state === 'held' ? 'warn' : ''}`}>${word('state', state)}</span>`;
}

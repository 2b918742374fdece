// The choice of how far back charts go. It is in the address.
import { html } from './html.js';
import { t } from './i18n.js';
import { setQuery } from './router.js';
import { ranges } from './samples.js';

export function Ranges({ range, usual }) {
  return html`<div class="buttons" role="group" aria-label=${t('overview.range')}>${Object.keys(ranges).map((r) => html`<button type="button" key=${r} class="small" aria-pressed=${r === range} onClick=${() => setQuery({ range: r === usual ? '' : r })}>${t(`overview.range_${r}`)}</button>`)}</div>`;
}

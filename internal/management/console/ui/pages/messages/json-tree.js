// A JSON value as a tree to fold, with the path of each part to copy or to filter by.
import { html, useState } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { copy } from '../../lib/code.js';
import { Icon } from '../../lib/icon.js';

const many = 100;

// JSONTree: onPath is offered beside copying, with the path and the value; about(name, value) is what else is said of a leaf.
export function JSONTree({ value, onPath, about = () => null }) {
  return html`<div class="json"><${Part} value=${value} path="$" depth=${0} onPath=${onPath} says=${about} /></div>`;
}

function Part({ name, value, path, depth, onPath, says }) {
  const [open, setOpen] = useState(depth < 2);
  const [most, setMost] = useState(many);
  const label = name === undefined ? null : html`<b>${name}</b>: `;
  if (value === null || typeof value !== 'object') {
    return html`<div class="json-leaf">${label}<span class=${`json-${value === null ? 'null' : typeof value}`}>${JSON.stringify(value)}</span> ${says(name, value)}
      <${Tools} ...${{ path, value, onPath }} /></div>`;
  }
  const entries = Array.isArray(value) ? value.map((v, i) => [i, v]) : Object.entries(value);
  const about = Array.isArray(value)
    ? t('viewer.items', { n: entries.length })
    : t('viewer.fields', { n: entries.length });
  return html`<details open=${open} onToggle=${(e) => {
    if (e.target === e.currentTarget) setOpen(e.currentTarget.open);
  }}>
    <summary>${label}<span class="faint">${Array.isArray(value) ? '[ ]' : '{ }'} ${about}</span></summary>
    ${
      open &&
      html`<div class="json-inside">${entries.slice(0, most).map(([k, v]) => html`<${Part} key=${k} name=${k} value=${v} depth=${depth + 1} onPath=${onPath} says=${says} path=${Array.isArray(value) ? `${path}[${k}]` : `${path}.${k}`} />`)}
      ${entries.length > most && html`<button type="button" class="small" onClick=${() => setMost(most * 10)}>${t('viewer.more', { n: entries.length - most })}</button>`}</div>`
    }
  </details>`;
}

function Tools({ path, value, onPath }) {
  return html`<span class="json-tools"><button type="button" class="plain small" onClick=${() => copy(path)} aria-label=${t('viewer.copy_path', { path })} title=${t('viewer.copy_path', { path })}><${Icon} name="copy" /></button>
    ${onPath && html`<button type="button" class="plain small" onClick=${() => onPath(path, value)} aria-label=${t('viewer.find_same', { path })} title=${t('viewer.find_same', { path })}><${Icon} name="filter" /></button>`}</span>`;
}

// Limits of a user or a virtual host: a number each; none is no limit.
import { html, useState } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { attempt } from '../../lib/layers.js';
import { NumberField } from '../../lib/form.js';

export function Limits({ at, names, value, changed, disabled = false }) {
  return html`<div class="form">${names.map((name) => html`<${Limit} key=${name} at=${at} name=${name} value=${value[name] ?? null} changed=${changed} disabled=${disabled} />`)}</div><p class="hint">${t('limits.hint')}</p>`;
}

function Limit({ at, name, value, changed, disabled }) {
  const [n, set] = useState(value);
  const put = async (e) => {
    e.preventDefault();
    const to = `${at}/${path`${name}`}`;
    if (await attempt(() => (n === null ? api.delete(to) : api.put(to, { value: n })), t('limits.done'))) changed();
  };
  return html`<form class="one-field" onSubmit=${put}><${NumberField} label=${t(`limit.${name}`)} min="-1" value=${n} onInput=${set} placeholder=${t('limits.none')} disabled=${disabled} />
    <button type="submit" class="small" disabled=${n === value}>${t('policies.save')}</button></form>`;
}

// What the overview shows to begin with: three steps that show what the broker is for, and which of them are taken.
import { html, useEffect } from '../lib/html.js';
import { t } from '../lib/i18n.js';
import { api, path } from '../lib/api.js';
import { useData } from '../lib/live.js';
import { Icon } from '../lib/icon.js';
import { href } from '../lib/router.js';
import { Command } from '../lib/states.js';
import { Codes } from '../lib/code.js';
import { useHere } from '../lib/here.js';
import { oneVHost, within } from '../lib/vhosts.js';
import { connectCode } from './code/clients.js';
import { firstSteps } from './code/commands.js';

// takenNow are the steps that can be seen to be taken: what they make is there.
async function takenNow(signal) {
  const query = { page: 1, page_size: 50, name: 'orders', columns: 'name,vhost,messages', disable_stats: true };
  const { items } = await api.get(within('queues'), query, { signal });
  const dlq = items.find((q) => q.name === 'orders.dlq');
  if (!dlq || !items.some((q) => q.name === 'orders' && q.vhost === dlq.vhost)) return [];
  const jobs = await api.get(path`x/redrives/${dlq.vhost}`, {}, { signal }).catch(() => []);
  const redriven = jobs.some((j) => j.action === 'redrive' && j.source.queue === dlq.name);
  return ['create', ...(redriven || dlq.messages > 0 ? ['publish'] : []), ...(redriven ? ['redrive'] : [])];
}

// Steps: taken are those that were seen to be taken before, which set changes; 'dismissed' takes them away.
export function Steps({ taken, set }) {
  const seen = useData(takenNow, [], { on: ['queues', 'letters', 'jobs'] }).data;
  const now = !seen ? taken : seen.length ? [...new Set([...taken, ...seen])] : [];
  useEffect(() => {
    if (now.length !== taken.length) set(now);
  }, [now.length]);
  const at = useHere();
  const steps = [
    [
      'create',
      firstSteps.create,
      html`<a class="button" href=${href('/queues/new', { name: 'orders' })}>${t('first.in_form')}</a>`,
    ],
    ['publish', firstSteps.publish],
    ['redrive', firstSteps.redrive],
  ];
  return html`<section class="card" aria-labelledby="first"><div class="page-head"><h2 id="first">${t('first.title')}</h2>
      <button type="button" class="plain" onClick=${() => set('dismissed')}>${t('first.dismiss')}</button></div><p class="faint">${t('first.text')}</p>
    <ol class="steps">${steps.map(
      ([
        name,
        commands,
        more,
      ]) => html`<li key=${name} class=${now.includes(name) ? 'taken' : ''}><h3>${t(`first.${name}`)}${now.includes(name) && html` <span class="tag good"><${Icon} name="check" /> ${t('first.taken')}</span>`}</h3><p>${t(`first.${name}_text`)}</p>
      ${commands.map((words) => html`<${Command} key=${words.join(' ')} words=${words} label=${words.slice(2, 4).join(' ')} />`)}${more && html`<p>${more}</p>`}</li>`,
    )}</ol>
    <details class="more"><summary>${t('first.connect')}</summary><${Codes} of=${connectCode(at, oneVHost.value)} label=${t('first.connect')} /></details></section>`;
}

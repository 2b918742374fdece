// What the overview shows while the broker has no queue: three steps that show what it is for.
import { html } from '../lib/html.js';
import { t } from '../lib/i18n.js';
import { href } from '../lib/router.js';
import { Command } from '../lib/states.js';
import { Codes } from '../lib/code.js';
import { useHere } from '../lib/here.js';
import { oneVHost } from '../lib/vhosts.js';
import { connectCode } from './code/clients.js';
import { firstSteps } from './code/commands.js';

export function Steps() {
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
  return html`<section class="card" aria-labelledby="first"><h2 id="first">${t('first.title')}</h2><p class="faint">${t('first.text')}</p>
    <ol class="steps">${steps.map(
      ([name, commands, more]) => html`<li key=${name}><h3>${t(`first.${name}`)}</h3><p>${t(`first.${name}_text`)}</p>
      ${commands.map((words) => html`<${Command} key=${words.join(' ')} words=${words} label=${words.slice(2, 4).join(' ')} />`)}${more && html`<p>${more}</p>`}</li>`,
    )}</ol>
    <details class="more"><summary>${t('first.connect')}</summary><${Codes} of=${connectCode(at, oneVHost.value)} label=${t('first.connect')} /></details></section>`;
}

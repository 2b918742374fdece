// What the broker says about the way of messages, in the user's language: findings of lint, paths of events and their steps.
import { html } from '../../lib/html.js';
import { t, has, word, num, size, span } from '../../lib/i18n.js';
import { href, to } from '../../lib/router.js';
import { exchangeName, QueueLink } from './parts.js';

const counts = ['messages', 'attempts', 'consumers', 'count', 'limit'];

// sizeText writes a limit as it was set, if that was in MiB.
const sizeText = (n) => (n > 0 && n % 2 ** 20 === 0 ? `${num(n / 2 ** 20)}\u00a0MiB` : size(n));

// limitText writes limits, 'max-length 1000000, max-length-bytes 67108864', as people read them: 1,000,000 messages, 64 MiB.
const limitText = (text) =>
  text
    .split(', ')
    .map((x) => {
      const [, name, n] = /^(max-length-bytes|max-length) (\d+)$/.exec(x) || [];
      return !name ? x : name === 'max-length' ? t('limit_of.messages', { n: Number(n) }) : sizeText(Number(n));
    })
    .join(t('frame.comma'));

// filled are parameters as a text shows them.
function filled(params) {
  const all = { ...params };
  for (const name of counts) if (/^\d+$/.test(all[name])) all[name] = num(Number(all[name]));
  if (all.limit !== undefined) all.limit = limitText(String(all.limit));
  if (all.bytes !== undefined) all.bytes = sizeText(Number(all.bytes));
  if (all.ladder !== undefined) all.ladder = span(Number(all.ladder));
  if (all.fate) all.fate = word('fate', all.fate);
  for (const name of ['dlx', 'exchange'])
    if (all[name] === '' || all[name] === 'amq.default') all[name] = t('exchange.default');
  if (all.ms !== undefined) all.time = span(Number(all.ms));
  return all;
}

// findingText and pathText are texts of the broker by their code; as the broker wrote them, in English, where there is no translation.
export function findingText(f) {
  if (!has(`finding.${f.code}`)) return f.text;
  const text = t(`finding.${f.code}`, filled({ ...f.params, name: f.name }));
  return f.params.also ? text + t('finding.also', { also: f.params.also }) : text;
}
const pathText = (code, params, text) => (has(`path.${code}`) ? t(`path.${code}`, filled(params)) : text);

const marks = { error: 'bad', warning: 'warn', note: '' };
export function Severity({ of }) {
  return html`<span class=${`tag ${marks[of] || ''}`}>${word('severity', of)}</span>`;
}

// pageOf is where what a finding is about is shown.
export function pageOf(f) {
  if (f.kind === 'queue') return href(to`/queues/${f.vhost}/${f.name}`);
  if (f.kind === 'exchange') return href(to`/exchanges/${f.vhost}/${exchangeName(f.name)}`);
  if (f.kind === 'policy')
    return href('/policies/edit', {
      vhost: f.vhost,
      policy: f.name,
      operator: f.params.which === 'operator' ? '1' : '',
    });
  return href(to`/vhosts/${f.vhost}`);
}

export function Findings({ of, link = true }) {
  if (!of.length) return null;
  return html`<ul>${of.map(
    (f) => html`<li class="finding" key=${f.code + f.kind + f.name}><${Severity} of=${f.severity} />
    <span class="break">${link ? html`<a href=${pageOf(f)}>${findingText(f)}</a>` : findingText(f)}</span></li>`,
  )}</ul>`;
}

const kinds = { lost: 'bad', shelf: 'warn', refused: 'warn', held: 'warn', kept: 'good', moved: 'good' };

function Step({ step, vhost }) {
  return html`<li><span class="break">${pathText(step.code, { ...step.params, queue: step.queue }, step.text)}</span>${' '}
    <span class=${`tag ${kinds[step.guarantee] || ''}`}>${word('guarantee', step.guarantee)}</span>
    ${!step.sure && html` <span class="tag">${t('paths.unsure')}</span>`} ${step.loop && html` <span class="tag warn">${t('paths.loop')}</span>`}
    ${step.queues.length > 0 && html` → ${step.queues.map((q, i) => html`${i ? ', ' : ''}<${QueueLink} vhost=${vhost} name=${q} />`)}`}</li>`;
}

// Paths shows what happens to a message of a queue, event by event.
export function Paths({ of }) {
  const now = of.paths.filter((p) => p.happens);
  const never = of.paths.filter((p) => !p.happens);
  const one = (p) => html`<section class=${`path ${p.happens ? '' : 'never'}`} key=${p.event}>
    <h3>${word('event', p.event)}</h3><p class="hint">${pathText(p.code, p.params, p.when)}</p>
    ${p.steps.length > 0 && html`<ol>${p.steps.map((s) => html`<${Step} key=${s.number} step=${s} vhost=${of.vhost} />`)}</ol>`}</section>`;
  return html`${now.map(one)}${never.length > 0 && html`<details><summary>${t('paths.never', { n: never.length })}</summary>${never.map(one)}</details>`}`;
}

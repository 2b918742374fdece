// One job while it runs and after: how far it is, what came back, and how it is held, slowed and ended.
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { t, left as timeLeft, num, percent, rate, span, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { Shown } from '../../lib/states.js';
import { Progress } from '../../lib/chart.js';
import { announce } from '../../lib/focus.js';
import { attempt } from '../../lib/layers.js';
import { first, lacksOwner, lacksTag, rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { href, to } from '../../lib/router.js';
import { NumberField } from '../../lib/form.js';
import { Icon } from '../../lib/icon.js';
import { When } from '../../lib/time.js';
import { pref } from '../../lib/store.js';
import { quote } from '../messages/filter.js';
import { filterParts } from './job-scopes.js';
import { expected, judged, left, note, share } from './job-rate.js';

export const going = (j) => ['running', 'watching', 'paused', 'stopped'].includes(j.state);
export const jobAt = (vhost, id) => `x/redrives/${path`${vhost}/${id}`}`;

// FilterText is the filter of a job, with words for the term that the console adds by itself.
function FilterText({ filter }) {
  const { terms, noLost } = filterParts(filter);
  return html`${terms && html`<code>${terms}</code>`} ${noLost && html`<span class="tag">${t('did.without_lost')}</span>`}`;
}

// watchHint is what a job does that watches; '' of others.
export const watchHint = (j) =>
  j.state === 'watching' ? t('jobs.watches', { time: span(j.options.watch_ms || 10000) }) : '';

// JobState: what has died again is no good end, and if all did it was in vain. hint is what the pointer and the keyboard are shown.
export function JobState({ job: { state, came_back: back, moved }, hint = '' }) {
  const kind =
    { running: 'good', watching: 'good', done: 'good', paused: 'warn', stopped: 'bad', failed: 'bad', cancelled: '' }[
      state
    ] ?? '';
  if (state !== 'done' || back === 0)
    return html`<span class=${`tag ${kind}`} title=${hint || undefined} tabindex=${hint ? 0 : undefined}>${word('job', state)}</span>`;
  return html`<span class=${`tag ${back >= moved ? 'bad' : 'warn'}`}>${back >= moved ? t('jobs.all_back') : t('jobs.some_back', { share: percent(back / moved) })}</span>`;
}

// JobWhy says why a job is not running: who or what held it.
export const whyOf = (j) =>
  !j.why
    ? ''
    : j.state === 'paused' || j.state === 'cancelled'
      ? t('jobs.by_user', { user: j.why })
      : word('job_why', j.why);

// backTo is the address of the messages that a job has sent and that died again.
export const backTo = (j) =>
  href('/letters', { vhost: j.vhost, filter: `came-back:${j.id} redrives:>0`, view: 'list' });

// discarded is the filter of the lost letters that a discard of a queue has made. They do not have the number of the job.
export const discarded = (j) => `cause:discarded target:${quote(j.source.queue)} lost-at:${j.begun}..${j.ended || ''}`;

export const discardedBy = (j) => href('/lost', { vhost: j.vhost, filter: discarded(j) });

export const sourceOf = (j) => (j.source.lost ? t('letters.lost_store') : j.source.queue);
export function targetOf(j) {
  if (j.action === 'discard') return t(j.source.lost ? 'jobs.to_nowhere' : 'letters.lost_store');
  const { to: where, queue, exchange, routing_key: key } = j.target;
  if (where === 'queue' && queue) return queue;
  if (where === 'elsewhere' && exchange === '' && key) return key; // the queue of that name
  return where === 'elsewhere'
    ? `${exchange || t('exchange.default')}${key !== undefined && key !== null ? ' → ' + key : ''}`
    : t(`jobs.to_${where}`);
}

// movedKey is the word for what a job has done to messages.
export const movedKey = (j) =>
  j.action !== 'discard' ? 'jobs.moved' : j.source.lost ? 'jobs.deleted' : 'jobs.discarded';

export async function change(vhost, id, what) {
  return attempt(() => api.post(`${jobAt(vhost, id)}/${what}`));
}

// usePaces returns what tells of a job how many messages per second it sends lately.
export function usePaces() {
  const seen = useRef(new Map());
  return (j) => {
    const key = `${j.vhost} ${j.id}`;
    if (!seen.current.has(key)) seen.current.set(key, []);
    return note(seen.current.get(key), j, Date.now());
  };
}

// What dry runs found for jobs that this browser began, for as many as are watched at once.
const found = pref('found', []);
const foundMost = 64;
const nameOf = (j) => `${j.vhost} ${j.id} ${j.begun}`;

// noteFound keeps how many messages the dry run of a job found, foundFor is that number, undefined if it is not known.
export function noteFound(j, trial) {
  const n = trial.partial ? trial.found : trial.matches;
  if (n !== null)
    found.value = [...found.value.filter(([name]) => name !== nameOf(j)), [nameOf(j), n]].slice(-foundMost);
}
export const foundFor = (j) => found.value.find(([name]) => name === nameOf(j))?.[1];

// leftOf is how many messages a job will still take, null if nobody knows.
export function leftOf(j) {
  const found = foundFor(j);
  return j.left ?? (found === undefined ? null : Math.max(0, found - j.matched));
}

// leftNote says why the number of messages left is no number, or an estimate; '' if it is exact.
export function leftNote(j) {
  if (j.left !== null) return '';
  return t(leftOf(j) === null ? 'jobs.left_unknown' : 'jobs.left_estimate');
}

// Job shows a job and its buttons; detail with all that was asked for. onEnd is told when it is over, or has stopped by itself; onJob
// each time that something is known of it; undo is what takes back a discard.
export function Job({ vhost, id, detail, onEnd, onJob, undo }) {
  const [done, setDone] = useState(false);
  const got = useData(
    async (abort) => {
      const j = await api.get(jobAt(vhost, id), {}, { signal: abort });
      setDone(!going(j));
      onJob?.(j);
      if (!going(j) || j.state === 'stopped') onEnd?.(id);
      return j;
    },
    [vhost, id],
    { every: done ? 0 : 1000, on: ['jobs'] },
  );
  return html`<${Shown} of=${got}>${(j) => html`<${Progressing} job=${j} refresh=${got.refresh} detail=${detail} undo=${undo} />`}</${Shown}>`;
}

function Progressing({ job: j, refresh, detail, undo }) {
  const matches = foundFor(j);
  const card = useRef();
  const name = `${word('action', j.action)} ${j.id}`;
  const [next, setNext] = useState(j.options.rate || null);
  const act = async (what) => {
    if (!(await change(j.vhost, j.id, what))) return;
    await refresh();
    requestAnimationFrame(() => document.activeElement === document.body && card.current?.focus()); // its button has gone
  };
  const state = useRef(detail ? j.state : 'running'); // in a dialog it may be over before it is shown
  useEffect(() => {
    if (state.current === j.state) return;
    state.current = j.state;
    announce([name, word('job', j.state), j.why && whyOf(j)].filter(Boolean).join(t('frame.clause')));
  }, [j.state]);
  const held = j.state === 'paused' || j.state === 'stopped';
  const of = judged(j);
  const lacks = lacksOwner(j.user);
  const lacksUndo = first(lacksTag('policymaker'), rightsIn(j.vhost).deadLetters('redrive'));
  const refused = Object.entries(j.refused);
  const gone = refused.reduce((n, [, k]) => n + k, 0);
  const goal = expected(j, matches);
  const pace = usePaces()(j);
  const time = left(j, pace, matches);
  return html`<article class="card job" tabindex="-1" ref=${card} aria-label=${t('jobs.one', { id: j.id })}>
    <header><h2>${detail ? name : html`<a href=${href(to`/jobs/${j.vhost}/${j.id}`)}>${name}</a>`}</h2><${JobState} job=${j} />
      ${j.why && html`<span class="faint" key="why">${whyOf(j)}</span>`}<span class="grow" key="grow"></span>
      <span class="buttons" key="buttons">
        ${going(j) && html`<${Action} lacks=${lacks} onClick=${() => act(held ? 'resume' : 'pause')}><${Icon} name=${held ? 'play' : 'pause'} /> ${t(held ? 'jobs.resume' : 'jobs.pause')}</${Action}>`}
        ${going(j) && html`<${Action} lacks=${lacks} onClick=${() => act('cancel')}><${Icon} name="cross" /> ${t('jobs.cancel')}</${Action}>`}</span></header>
    <p class="break"><b>${sourceOf(j)}</b> → <b>${targetOf(j)}</b> <${FilterText} filter=${j.filter || ''} /> ${j.ids > 0 && html`<span class="tag">${t('redrive.chosen', { n: j.ids })}</span>`}</p>
    <${Progress} done=${share(j, matches)} total=${1} label=${t('jobs.progress')} />
    <div class="cards" role="status" aria-live="off">
      <div class="stat"><b>${j.looked > 0 || j.matched > 0 ? num(j.matched) : '–'}</b><span>${t('jobs.matched')} · ${t('jobs.checked', { n: j.looked, total: j.total })}</span></div>
      <div class="stat"><b>${num(j.moved)}</b><span>${t(movedKey(j))}${going(j) && goal.n > 0 && ` · ${t(goal.most ? 'jobs.of_most' : goal.about ? 'jobs.of_about' : 'jobs.of', { n: goal.n })}`}</span></div>
      ${j.action !== 'discard' && html`<div class=${`stat ${j.came_back ? 'bad' : ''}`}><b>${num(j.came_back)}</b><span>${t('jobs.came_back')}${j.moved > 0 && j.came_back > 0 && html` · ${t('jobs.of_all', { share: percent(j.came_back / j.moved) })} · <a href=${backTo(j)}>${t('jobs.show_back')}</a>`}</span></div>`}
      <div class="stat"><b>${num(leftOf(j))}</b><span>${[t('jobs.left'), leftNote(j)].filter(Boolean).join(' · ')}</span></div>
      <div class=${`stat ${gone ? 'bad' : ''}`}><b>${num(gone)}</b><span>${t('jobs.refused')}</span></div>
      ${going(j) && html`<div class="stat"><b>${pace === null ? '–' : rate(pace)}</b><span>${t('jobs.rate')}${time !== null && ` · ${t('jobs.eta', { time: timeLeft(time) })}`}</span></div>`}
    </div>
    ${watchHint(j) && html`<p class="hint">${watchHint(j)}</p>`}
    ${j.why === 'came_back' && html`<p class="hint">${t(of.least === of.most ? 'jobs.judged' : 'jobs.judged_about', { share: percent(j.options.stop_percent / 100), back: j.came_back, sent: j.moved, ...of })}</p>`}
    ${j.state === 'stopped' && j.why === 'no_consumer' && html`<p class="banner warn"><${Icon} name="warning" /> ${t('jobs.needs_consumer')}</p>`}
    ${refused.length > 0 && html`<table><caption>${t('jobs.refused_by')}</caption><thead><tr><th scope="col">${t('jobs.reason')}</th><th scope="col" class="end">${t('redrive.letters')}</th></tr></thead><tbody>${refused.map(([why, n]) => html`<tr><td>${word('refused', why)}</td><td class="end">${num(n)}</td></tr>`)}</tbody></table>`}
    ${
      going(j) &&
      !lacks &&
      html`<form class="buttons" onSubmit=${async (e) => {
        e.preventDefault();
        if (await attempt(() => api.patch(jobAt(j.vhost, j.id), { rate: next || 0 }), t('jobs.rate_changed')))
          refresh();
      }}>
      <${NumberField} label=${t('redrive.rate')} unit=${t('redrive.per_second')} min="0" value=${next} onInput=${setNext} /><button type="submit">${t('jobs.change_rate')}</button></form>`
    }
    ${j.action === 'discard' && !j.source.lost && !going(j) && j.moved > 0 && html`<p class="buttons"><${Action} lacks=${lacksUndo} onClick=${() => undo(j)}><${Icon} name="redrive" /> ${t('jobs.undo')}</${Action}> <a href=${discardedBy(j)}>${t('jobs.view_discarded')}</a></p>`}
    ${detail && html`<${Detail} job=${j} />`}
  </article>`;
}

function Detail({ job: j }) {
  const o = j.options;
  return html`<dl class="pairs"><dt>${t('jobs.by')}</dt><dd>${j.user}</dd><dt>${t('jobs.begun')}</dt><dd><${When} at=${j.begun} /></dd>
    ${j.ended && html`<dt>${t('jobs.ended')}</dt><dd><${When} at=${j.ended} /> <span class="faint">${span(Date.parse(j.ended) - Date.parse(j.begun))}</span></dd>`}
    <dt>${t('redrive.rate')}</dt><dd>${o.rate ? rate(o.rate) : t('redrive.unlimited')}</dd><dt>${t('redrive.order')}</dt><dd>${t(`redrive.${o.order || 'oldest'}`)}</dd>
    ${j.max > 0 && html`<dt>${t('redrive.max')}</dt><dd>${num(j.max)}</dd>`}
    ${o.canary > 0 && html`<dt>${t('redrive.canary')}</dt><dd>${num(o.canary)} ${o.ramp && t('redrive.ramp')}</dd>`}
    <dt>${t('redrive.watch')}</dt><dd>${span(o.watch_ms || 10000)}</dd>
    ${o.stop_percent > 0 && html`<dt>${t('redrive.stop_share')}</dt><dd>${percent(o.stop_percent / 100)}</dd>`}</dl>`;
}

// The dialogs that begin jobs: send messages back, or discard them. First what would be done, then it is done.
import { html, useEffect, useRef, useState } from '../../lib/html.js';
import { percent, t } from '../../lib/i18n.js';
import { address, api, path } from '../../lib/api.js';
import { Cancel, Dialog, open, reasonOf } from '../../lib/layers.js';
import { Check, NumberField, Radios, Select, TextField } from '../../lib/form.js';
import { Duration } from '../../lib/duration-fields.js';
import { Icon } from '../../lib/icon.js';
import { Commands } from '../../lib/states.js';
import { here } from '../../lib/here.js';
import { Action } from '../../lib/action.js';
import { first } from '../../lib/rights.js';
import { jobCommands } from '../code/commands.js';
import { Job, discarded, noteFound } from './job.js';
import { NameField } from '../messages/name-field.js';
import { split } from '../messages/filter.js';
import { intoSame, meant, optionsFor } from './job-preview.js';
import { cautious, fast, paceOf, usualStop } from './job-pace.js';
import { atOnce, countOf, sorted } from './job-scopes.js';
import { Trials, placeOf } from './dry-run.js';

const placesMost = 500; // that are asked for

// scopesByFilter asks where the messages are that a filter finds. Those in queues that are no
// dead-letter queues, or no longer, are left out for now, unless the filter names queues.
export async function scopesByFilter(vhost, filter, signal) {
  const groups = (by, term) =>
    api.get(
      `x/letters/${path`${vhost}`}/groups`,
      { by, filter: `${filter} ${term}`.trim(), limit: placesMost },
      { signal },
    );
  const some = (by, term) => groups(by, term).catch(() => ({ groups: [], total: 0 })); // who may not see them has none
  const named = split(filter).some((x) => (x.field === 'queue' || x.field === 'dlq') && !x.not);
  const [targets, places, lost, held] = await Promise.all([
    named ? null : placesOfMessages(vhost, signal),
    groups('queue', '-state:scheduled -state:held'),
    some('cause', 'state:lost'),
    some('queue', 'state:held'),
  ]);
  return sorted({ filter, places, targets, lost: all(lost), held: all(held) });
}

const all = (groups) => groups.total + (groups.without || 0);

// placesOfMessages are the dead-letter queues, and those where consumers publish what they cannot handle.
async function placesOfMessages(vhost, signal) {
  const [summary, anew] = await Promise.all([
    api.get(`x/letters/${path`${vhost}`}/summary`, {}, { signal }),
    api.get(
      `x/letters/${path`${vhost}`}/groups`,
      { by: 'queue', filter: 'reason:republished', limit: placesMost },
      { signal },
    ),
  ]);
  return [
    ...summary.queues.filter((q) => q.role === 'dead_letter').map((q) => q.name),
    ...anew.groups.map((g) => g.value),
  ];
}

// beginRedrive opens the dialog for scopes of a virtual host; action is redrive or discard. alive says that they are of messages that never
// died: these are moved to where the user says.
export const beginRedrive = (vhost, scopes, action = 'redrive', alive = false) =>
  open(Begin, { vhost, scopes, action, alive });

// undoDiscard opens the dialog for what a discard of a queue has made lost letters of: each returns to that queue.
export const undoDiscard = (j) =>
  open(Begin, {
    vhost: j.vhost,
    scopes: [{ source: { lost: true }, filter: discarded(j), count: j.moved }],
    action: 'redrive',
    undo: true,
  });

function bodyOf(scope, action, target, options, max, dry, force = false) {
  const body = { source: scope.source, action, options, dry_run: dry };
  if (scope.ids) body.ids = scope.ids;
  else body.filter = scope.filter || '';
  if (max) body.max = max;
  if (action === 'redrive') body.target = target;
  if (force) body.force = true;
  return body;
}

function Begin({ close, vhost, scopes: offered, action, undo, alive }) {
  const [also, setAlso] = useState(false); // those in queues that are no dead-letter queues
  const scopes = atOnce(offered, also);
  const lost = scopes.length > 0 && scopes.every((s) => s.source.lost);
  const [target, setTarget] = useState(alive ? { to: 'queue', queue: '' } : { to: 'queue' });
  const [options, setOptions] = useState({
    order: 'oldest',
    strip_deaths: false,
    drop_expiration: false,
    ...(action === 'discard' || undo || alive ? fast : cautious),
  });
  const [max, setMax] = useState(null);
  const [trials, setTrials] = useState(null);
  const [jobs, setJobs] = useState(null);
  const [over, setOver] = useState([]); // jobs that have ended, or stopped by themselves
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const [typed, setTyped] = useState('');
  const [allTheSame, setAllTheSame] = useState(false); // though messages would come to where they are
  const results = useRef();
  const progress = useRef();
  useEffect(() => {
    if (jobs) progress.current?.focus();
  }, [jobs]);
  useEffect(() => {
    if (!trials || !results.current) return;
    results.current.scrollIntoView({ block: 'nearest' });
    const body = results.current.closest('.dialog-body');
    const at = document.activeElement;
    const hidden = at.getBoundingClientRect().bottom < body.getBoundingClientRect().top; // in a low window
    if (hidden && at !== body && body.contains(at)) results.current.focus({ preventScroll: true });
  }, [trials]);
  const set = (patch) => {
    setOptions({ ...options, ...patch });
    setTrials(null);
  };
  // The dry run stays as it is: neither how fast the messages go nor their expiration changes where.
  const choose = (patch) => {
    setOptions({ ...options, ...patch });
    results.current?.focus(); // the button goes
  };
  const dropExpiration = options.drop_expiration ? null : () => choose({ drop_expiration: true });
  const nameless = target.queue === ''; // another queue, and nobody has said which
  // forced: messages of this scope go to where they are, which somebody has confirmed.
  const forced = (i) => allTheSame && trials !== null && intoSame(trials[i]) > 0;
  const ask = async (dry) => {
    if (busy || scopes.length === 0 || nameless) return;
    setBusy(true);
    if (dry) setAllTheSame(false);
    setError('');
    const answers = [];
    try {
      for (const [i, s] of scopes.entries()) {
        const body = bodyOf(
          s,
          action,
          target,
          dry ? options : optionsFor(options, trials[i]),
          max,
          dry,
          !dry && forced(i),
        );
        answers.push(await api.post(`x/redrives/${path`${vhost}`}`, body));
        if (!dry) noteFound(answers.at(-1), trials[answers.length - 1]);
      }
      if (dry) setTrials(answers);
      else setJobs(answers); // the dialog shows them now: a toast would say that they run when they are over
    } catch (e) {
      setError(reasonOf(e));
      if (!dry && answers.length > 0) setJobs(answers); // these have begun
    }
    setBusy(false);
  };
  useEffect(() => {
    if (action === 'discard' || undo) ask(true);
  }, [also]);
  const { n: count, partial, known } = meant(scopes, trials);
  const same = trials !== null && trials.some((x) => intoSame(x) > 0);
  const mustType = action === 'discard' && (count > 1000 || partial);
  const deletes = action === 'discard' && scopes.some((s) => s.source.lost); // what is lost already is gone then
  const title = alive
    ? t(action === 'discard' ? 'message.discard_title' : 'message.move_title', { n: known ? count : 0 })
    : action === 'discard'
      ? known
        ? t(lost ? 'redrive.delete_title' : 'redrive.discard_title', { n: count })
        : t(lost ? 'redrive.delete_found' : 'redrive.discard_found')
      : known
        ? t('redrive.title', { n: count })
        : t('redrive.title_found');
  if (jobs) {
    return html`<${Dialog} title=${t('redrive.progress')} close=${() => close(jobs)} wide light actions=${html`<button type="button" onClick=${() => close(jobs)}>${jobs.every((j) => over.includes(j.id)) ? t('redrive.close') : t('redrive.in_background')}</button>`}>
      <div class="stack" tabindex="-1" ref=${progress} role="group" aria-label=${t('redrive.progress')}>
        ${error && html`<p class="banner bad" role="alert"><${Icon} name="warning" /> ${t('redrive.only_begun', { n: jobs.length, all: scopes.length })} ${error}</p>`}
        ${jobs.map(
          (j) =>
            html`<${Job} key=${j.id} vhost=${vhost} id=${j.id} onEnd=${(id) => setOver((all) => (all.includes(id) ? all : [...all, id]))} undo=${(
              j,
            ) => {
              close(jobs);
              undoDiscard(j);
            }} />`,
        )}</div></${Dialog}>`;
  }
  const out = offered.out;
  if (offered.length === 0 && !out?.elsewhere.length)
    return html`<${Dialog} title=${title} close=${() => close()} actions=${html`<button type="button" onClick=${() => close()}>${t('redrive.close')}</button>`}><p>${t(out?.held || out?.scheduled ? 'redrive.none_can' : 'redrive.none_there')}</p><${LeftOut} out=${out} /></${Dialog}>`;
  const unread = Number.isNaN(options.watch_ms);
  const toTry = first(
    scopes.length === 0 && t('redrive.none_there'),
    nameless && t('form_words.fill_in', { what: t('redrive.queue') }),
    unread && t('form_words.correct', { what: t('redrive.watch') }),
  );
  const toBegin = first(
    toTry,
    !trials && t('redrive.not_tried'),
    count === 0 && !partial && t('redrive.none_there'),
    same && !allTheSame && t('form_words.check', { what: t('redrive.all_the_same') }),
    mustType && typed !== String(count) && t('frame.type_to_confirm', { what: count }),
  );
  return html`<${Dialog} title=${title} close=${() => close()} wide light actions=${html`
      <${Cancel} />
      <${Action} className=${trials ? '' : 'primary'} aria-disabled=${busy} lacks=${toTry} onClick=${() => ask(true)}>${t('redrive.try')}</${Action}>
      <${Action} className=${action === 'discard' ? 'danger' : trials ? 'primary' : ''} lacks=${busy ? '' : toBegin} disabled=${busy} onClick=${() => ask(false)}>${action === 'discard' ? (lost ? t('lost.erase') : t(deletes ? 'redrive.discard_and_delete' : 'redrive.discard')) : t('redrive.begin')}</${Action}>`}>
    <ul class="tags">${scopes.map((s) => html`<li class="tag">${placeOf(s)} · ${s.ids ? t(alive ? 'message.chosen' : 'redrive.chosen', { n: s.ids.length }) : s.filter ? html`<code>${s.filter}</code>` : t('redrive.everything')}</li>`)}</ul>
    <${LeftOut} out=${out} also=${also} busy=${busy} change=${(on) => {
      setAlso(on);
      setTrials(null);
      setTyped('');
    }} />
    ${scopes.rest && html`<p class="banner warn"><${Icon} name="warning" /> ${t('redrive.rest', { n: scopes.length, places: scopes.rest.places + scopes.length })}</p>`}
    ${
      action === 'discard'
        ? html`${scopes.some((s) => !s.source.lost) && html`<p>${t(alive ? 'message.discard_text' : 'redrive.discard_text')}</p>`}${deletes && html`<p class="banner warn"><${Icon} name="warning" /> ${t(lost ? 'redrive.delete_text' : 'redrive.delete_some_text', { n: countOf(scopes.filter((s) => s.source.lost)) })}</p>`}`
        : html`<${Target} vhost=${vhost} target=${target} lost=${lost} alive=${alive} change=${(x) => {
            setTarget(x);
            setTrials(null);
          }} />
      <${Pace} options=${options} set=${set} />
      <${Options} options=${options} set=${set} max=${max} setMax=${setMax} />`
    }
    ${action === 'discard' && html`<p class="buttons">${scopes.filter((s) => !s.ids).map((s) => html`<a class="button" download key=${placeOf(s)} href=${address(`x/letters/${path`${vhost}`}/export`, { filter: s.filter, queue: s.source.queue, lost: s.source.lost ? 'true' : '' })}><${Icon} name="download" /> ${t('redrive.export_first', { place: placeOf(s) })}</a>`)}</p>`}
    ${error && html`<p class="banner bad" role="alert"><${Icon} name="warning" /> ${error}</p>`}
    <div aria-live="polite" tabindex="-1" ref=${results}>${busy && html`<p class="faint">${t('redrive.trying')}</p>`}${trials && html`<${Trials} vhost=${vhost} scopes=${scopes} trials=${trials} action=${action} alive=${alive} options=${options} hurry=${() => choose(fast)} dropExpiration=${dropExpiration} />`}${same && html`<${Check} label=${t('redrive.all_the_same')} value=${allTheSame} onInput=${setAllTheSame} />`}</div>
    ${mustType && trials && html`<${TextField} label=${t('frame.type_to_confirm', { what: count })} value=${typed} onInput=${setTyped} autocomplete="off" />`}
    ${scopes.map((s, i) => html`<${Commands} key=${placeOf(s)} of=${scopes.length > 1 ? placeOf(s) : ''} commands=${jobCommands(here(), vhost, bodyOf(s, action, target, optionsFor(options, trials?.[i]), max, false, forced(i)))} />`)}
  </${Dialog}>`;
}

// LeftOut says what is not taken, and why; what is merely elsewhere may be taken, too.
function LeftOut({ out, also, busy, change }) {
  if (!out) return null;
  const elsewhere = countOf(out.elsewhere);
  const which = [
    [out.held, 'redrive.out_held'],
    [out.scheduled, 'redrive.out_scheduled'],
    [also ? 0 : elsewhere, 'redrive.out_elsewhere'],
  ].filter(([n]) => n > 0);
  return html`${which.length > 0 && html`<p class="banner" role="status">${t('redrive.left_out', { n: which.reduce((sum, [n]) => sum + n, 0), which: which.map(([n, key]) => t(key, { n })).join(t('frame.comma')) })}</p>`}
    ${elsewhere > 0 && html`<${Check} label=${t('redrive.also', { n: elsewhere })} hint=${t('redrive.also_hint', { places: out.elsewhere.slice(0, 5).map(placeOf).join(t('frame.comma')) + (out.elsewhere.length > 5 ? ' …' : '') })} value=${also} onInput=${change} disabled=${busy} />`}`;
}

function Target({ vhost, target, lost, alive, change }) {
  const direct = target.queue !== undefined;
  const chosen = direct ? 'direct' : target.to;
  return html`<${Radios} label=${t('redrive.where')} value=${chosen} onInput=${(v) => change(v === 'direct' ? { to: 'queue', queue: '' } : v === 'elsewhere' ? { to: v, exchange: 'amq.direct' } : { to: v })} options=${[
    ...(alive
      ? []
      : [
          ['queue', t('redrive.to_queue'), t('redrive.to_queue_hint')],
          ['origin', t('redrive.to_origin'), t('redrive.to_origin_hint')],
        ]),
    ...(lost ? [['on', t('redrive.to_on'), t('redrive.to_on_hint')]] : []),
    ['direct', t('redrive.to_other_queue')],
    ['elsewhere', t('redrive.to_exchange')],
  ]} />
    ${direct && html`<${NameField} vhost=${vhost} of="queues" label=${t('redrive.queue')} value=${target.queue} onInput=${(v) => change({ ...target, queue: v })} required />`}
    ${
      chosen === 'elsewhere' &&
      html`<div class="form"><${NameField} vhost=${vhost} of="exchanges" label=${t('letters.exchange')} value=${target.exchange} onInput=${(v) => change({ ...target, exchange: v || 'amq.direct' })} required />
      <${TextField} label=${t('letters.key')} hint=${t('redrive.own_keys')} value=${target.routing_key || ''} onInput=${(v) => change({ ...target, routing_key: v === '' ? undefined : v })} /></div>`
    }`;
}

// Pace is careful or fast; what somebody chose beyond that is a third choice.
function Pace({ options, set }) {
  const pace = paceOf(options);
  const careful = { n: cautious.canary, rate: cautious.rate, share: percent(cautious.stop_percent / 100) };
  return html`<${Radios} label=${t('redrive.pace')} value=${pace} onInput=${(v) => set({ careful: cautious, fast }[v] || {})} options=${[
    ['careful', t('redrive.careful'), t('redrive.careful_hint', careful)],
    ['fast', t('redrive.fast'), t('redrive.fast_hint')],
    ...(pace === 'own' ? [['own', t('redrive.own_pace')]] : []),
  ]} />`;
}

function Options({ options: o, set, max, setMax }) {
  return html`<details class="more"><summary>${t('redrive.options')}</summary>
    <div class="form">
      <${NumberField} label=${t('redrive.rate')} hint=${t('redrive.rate_hint')} unit=${t('redrive.per_second')} min="0" value=${o.rate || null} onInput=${(v) => set({ rate: v || 0 })} />
      <${NumberField} label=${t('redrive.max')} hint=${t('redrive.max_hint')} min="0" value=${max} onInput=${setMax} />
      <${Select} label=${t('redrive.order')} value=${o.order} onInput=${(v) => set({ order: v })} options=${[
        ['oldest', t('redrive.oldest')],
        ['newest', t('redrive.newest')],
      ]} />
      <${NumberField} label=${t('redrive.canary')} hint=${t('redrive.canary_hint')} min="0" value=${o.canary || null} onInput=${(v) => set({ canary: v || 0, stop_percent: v && !o.stop_percent ? usualStop : o.stop_percent })} />
      <${Duration} label=${t('redrive.watch')} hint=${t('redrive.watch_hint')} value=${o.watch_ms || null} onInput=${(v) => set({ watch_ms: v === undefined ? NaN : v || 0 })} />
      <${NumberField} label=${t('redrive.stop_share')} hint=${t('redrive.stop_share_hint')} unit="%" min="0" max="100" value=${o.stop_percent || null} onInput=${(v) => set({ stop_percent: v || 0 })} /></div>
    <${Check} label=${t('redrive.ramp')} hint=${t('redrive.ramp_hint')} value=${o.ramp} onInput=${(v) => set({ ramp: v, canary: v && !o.canary ? 10 : o.canary, stop_percent: v && !o.stop_percent ? usualStop : o.stop_percent })} />
    <${Check} label=${t('redrive.stop_no_consumer')} value=${o.stop_no_consumer} onInput=${(v) => set({ stop_no_consumer: v })} />
    <${Check} label=${t('redrive.drop_expiration')} hint=${t('redrive.drop_expiration_hint')} value=${o.drop_expiration} onInput=${(v) => set({ drop_expiration: v })} />
    <${Check} label=${t('redrive.strip_deaths')} hint=${t('redrive.strip_deaths_hint')} value=${o.strip_deaths} onInput=${(v) => set({ strip_deaths: v })} /></details>`;
}

// Jobs: what sends messages back or discards them, now and before.
import { html, useState } from '../../lib/html.js';
import { t, num, rate, word } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { go, href, to, up } from '../../lib/router.js';
import { useData } from '../../lib/live.js';
import { useRows } from '../../lib/list.js';
import { Table } from '../../lib/table.js';
import { Empty } from '../../lib/states.js';
import { Progress } from '../../lib/chart.js';
import { Ago } from '../../lib/time.js';
import { attempt, confirm } from '../../lib/layers.js';
import { lacksOwner } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { breakable } from '../broker/parts.js';
import { vhost, vhosts } from '../../lib/vhosts.js';
import {
  Job,
  JobState,
  backTo,
  foundFor,
  going,
  jobAt,
  leftNote,
  leftOf,
  movedKey,
  sourceOf,
  targetOf,
  usePaces,
  watchHint,
  whyOf,
} from './job.js';
import { share } from './job-rate.js';
import { undoDiscard } from './redrive.js';
import { redriveCommand } from '../code/commands.js';

// everyJob reads the jobs of the chosen virtual hosts: {jobs, hidden}. Of several those that the user may not see are hidden.
async function everyJob(abort) {
  const names = vhost.value ? [vhost.value] : vhosts.value;
  let hidden = 0;
  const lists = await Promise.all(
    names.map((v) =>
      api.get(`x/redrives/${path`${v}`}`, {}, { signal: abort }).catch((e) => {
        if (names.length === 1 || !e.noRight) throw e;
        hidden++;
        return [];
      }),
    ),
  );
  return { jobs: lists.flat().sort((a, b) => Date.parse(b.begun) - Date.parse(a.begun)), hidden };
}

const columns = (pace) => [
  {
    key: 'id',
    title: t('jobs.job'),
    always: true,
    value: (j) => j.id,
    render: (j) => html`<a href=${href(to`/jobs/${j.vhost}/${j.id}`)}>${word('action', j.action)} ${j.id}</a>`,
  },
  { key: 'vhost', title: t('frame.vhost'), off: true },
  {
    key: 'source',
    title: t('jobs.from'),
    value: sourceOf,
    render: (j) => html`<span class="break">${breakable(sourceOf(j))}</span>`,
  },
  {
    key: 'target',
    title: t('jobs.to'),
    value: targetOf,
    render: (j) => html`<span class="break">${breakable(targetOf(j))}</span>`,
  },
  {
    key: 'state',
    title: t('letters.state'),
    value: (j) => j.state,
    render: (j) => html`<${JobState} job=${j} hint=${watchHint(j)} />`,
  },
  {
    key: 'why',
    title: t('jobs.why'),
    value: whyOf,
    render: (j) => html`<span class="faint">${whyOf(j) || '–'}</span>`,
  },
  {
    key: 'progress',
    title: t('jobs.progress'),
    off: innerWidth < 1100,
    value: (j) => share(j, foundFor(j)),
    render: (j) => html`<${Progress} done=${share(j, foundFor(j))} total=${1} label=${t('jobs.progress')} />`,
  },
  {
    key: 'matched',
    title: t('jobs.matched'),
    align: 'end',
    value: (j) => j.matched,
    render: (j) => (j.looked > 0 || j.matched > 0 ? num(j.matched) : '–'),
  },
  {
    key: 'moved',
    title: t('jobs.handled'),
    align: 'end',
    value: (j) => j.moved,
    render: (j) => html`<span title=${t(movedKey(j))}>${num(j.moved)}</span>`,
  },
  {
    key: 'came_back',
    title: t('jobs.came_back'),
    align: 'end',
    value: (j) => j.came_back,
    render: (j) =>
      j.came_back ? html`<a href=${backTo(j)} title=${t('jobs.show_back')}>${num(j.came_back)}</a>` : '0',
  },
  {
    key: 'left',
    title: t('jobs.left'),
    align: 'end',
    value: (j) => leftOf(j) ?? -1,
    render: (j) =>
      leftOf(j) === null
        ? html`<span class="faint beneath" title=${t('jobs.checked', { n: j.looked, total: j.total })}>${leftNote(j)}</span>`
        : html`${num(leftOf(j))} ${leftNote(j) && html`<small class="faint beneath">${leftNote(j)}</small>`}`,
  },
  {
    key: 'refused',
    title: t('jobs.refused'),
    align: 'end',
    off: innerWidth < 1400,
    value: (j) => Object.values(j.refused).reduce((a, b) => a + b, 0),
  },
  {
    key: 'rate',
    title: t('jobs.rate'),
    align: 'end',
    off: innerWidth < 1300,
    value: (j) => pace(j) ?? 0,
    render: (j) => (pace(j) === null ? '–' : rate(pace(j))),
  },
  { key: 'user', title: t('jobs.by'), value: (j) => j.user, off: innerWidth < 1400 },
  {
    key: 'begun',
    title: t('jobs.begun'),
    value: (j) => Date.parse(j.begun),
    render: (j) => html`<${Ago} at=${j.begun} />`,
  },
];

function List() {
  const got = useData(everyJob, [vhost.value, vhosts.value], { on: ['jobs'], every: 2000 });
  const shown = columns(usePaces());
  const jobs = got.data?.jobs;
  const hidden = got.data?.hidden || 0;
  const source = useRows({ ...got, data: jobs }, shown, { usual: { sort: 'begun', reverse: true } });
  const running = (jobs || []).filter((j) => j.state === 'running' || j.state === 'watching');
  return html`<div class="page-head"><h1>${t('jobs.title')}</h1><p role="status" class="faint">${t('jobs.going_on', { n: running.length })}</p></div>
    <${Table} id="jobs" className="fits" caption=${t('jobs.title')} source=${source} columns=${shown} keyOf=${(j) => `${j.vhost} ${j.id}`} onOpen=${(j) => go(to`/jobs/${j.vhost}/${j.id}`)}
      empty=${html`<${Empty} title=${t('jobs.empty')} text=${t('jobs.empty_text')} cli=${redriveCommand} docs="handling-dead-letters.md" />`} />
    <p class="faint">${t('jobs.total', { n: (jobs || []).length })} ${hidden > 0 && t('jobs.hidden', { n: hidden })}</p>`;
}

function One({ params }) {
  const [job, setJob] = useState(null);
  const drop = async () => {
    if (await confirm({ title: t('jobs.forget_title'), text: t('jobs.forget_text'), action: t('jobs.forget') })) {
      if (await attempt(() => api.delete(jobAt(params.vhost, params.id)), t('jobs.forgotten'))) go('/jobs');
    }
  };
  return html`<nav class="crumbs" aria-label=${t('frame.crumbs')}><a href=${up('/jobs')}>${t('jobs.title')}</a></nav>
    <div class="page-head"><h1>${t('jobs.one', { id: params.id })}</h1>${job && !going(job) && html`<${Action} lacks=${lacksOwner(job.user)} onClick=${drop}>${t('jobs.forget')}</${Action}>`}</div>
    <${Job} vhost=${params.vhost} id=${params.id} detail onJob=${setJob} undo=${undoDiscard} />`;
}

export const render = ({ params }) => (params.id ? html`<${One} params=${params} />` : html`<${List} />`);

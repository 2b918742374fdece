// One queue.
import { html } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { useData } from '../../lib/live.js';
import { go, href, up } from '../../lib/router.js';
import { Shown } from '../../lib/states.js';
import { Icon } from '../../lib/icon.js';
import { may } from '../../lib/session.js';
import { rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { Tabs } from './parts.js';
import { Summary } from './queue-summary.js';
import { Bindings, Consumers, HeldList, WaitingList } from './queue-tabs.js';
import { getFrom, publishTo, purge, remove } from './queue-dialogs.js';
import { Messages } from './queue-messages.js';
import { QueueHistory, QueueDeadLetters } from './queue-past.js';
import { Trends } from './queue-trends.js';

export function render({ params: { vhost, name }, query }) {
  const got = useData(
    (signal) =>
      api.get(
        path`queues/${vhost}/${name}`,
        { lengths_age: 60, lengths_incr: 5, msg_rates_age: 60, msg_rates_incr: 5 },
        { signal },
      ),
    [vhost, name],
    { on: ['queues'] },
  );
  const tab = query.tab || 'summary';
  const q = got.data;
  const rights = rightsIn(vhost);
  return html`<p class="crumbs"><a href=${up('/queues', { vhost })}>${t('queues.title')}</a> <span aria-hidden="true">›</span> ${vhost}</p>
    <div class="page-head"><h1>${name}</h1>
      ${
        q &&
        html`<span class="buttons">
        <${Action} lacks=${rights.exchange('write', '')} onClick=${() => publishTo({ vhost, exchange: '', routingKey: name, fixed: true }).then(got.refresh)}>${t('publish.do')}</${Action}>
        <${Action} lacks=${rights.queue('read', name)} onClick=${() => getFrom({ vhost, name }).then(got.refresh)}>${t('get.do')}</${Action}>
        ${may('policymaker') && html`<a class="button" href=${href('/policies/edit', { vhost, pattern: `^${name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$` })}>${t('queues.set_policy')}</a>`}
        <${Action} lacks=${rights.queue('read', name)} onClick=${() => purge([q]).then(got.refresh)}>${t('queues.purge')}</${Action}>
        <${Action} lacks=${rights.queue('configure', name)} onClick=${() => remove([q]).then((done) => done && go('/queues', { vhost }))}><${Icon} name="discard" /> ${t('queues.delete')}</${Action}>
      </span>`
      }</div>
    <${Shown} of=${got}>${(d) => html`
      <${Tabs} label=${t('queue.tabs')} at=${tab} tabs=${[
        ['summary', t('queue.summary')],
        ['messages', t('queue.messages'), d.messages],
        ['consumers', t('queues.consumers'), d.consumers],
        ['bindings', t('queue.bindings')],
        ['waiting', t('queues.waiting'), d.messages_delayed],
        ['held', t('queues.held'), d.messages_dlx],
        ['trends', t('queue.trends')],
        ['letters', t('letters.title')],
        ['history', t('queue.history')],
      ]} />
      ${tab === 'summary' && html`<${Summary} vhost=${vhost} name=${name} queue=${d} at=${got.at} />`}
      ${tab === 'trends' && html`<${Trends} vhost=${vhost} name=${name} query=${query} />`}
      ${tab === 'messages' && html`<${Messages} vhost=${vhost} name=${name} count=${d.messages} waiting=${d.messages_delayed || 0} />`}
      ${tab === 'consumers' && html`<${Consumers} queue=${d} />`}
      ${tab === 'bindings' && html`<${Bindings} vhost=${vhost} name=${name} />`}
      ${tab === 'waiting' && html`<${WaitingList} vhost=${vhost} name=${name} spaced=${!!d.delayed_retry} />`}
      ${tab === 'held' && html`<${HeldList} vhost=${vhost} name=${name} />`}
      ${tab === 'letters' && html`<${QueueDeadLetters} vhost=${vhost} name=${name} />`}
      ${tab === 'history' && html`<${QueueHistory} vhost=${vhost} name=${name} />`}`}</${Shown}>`;
}

// Messages that wait for a retry, or for their delivery time, are made ready.
import { html } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { Action } from '../../lib/action.js';
import { Icon } from '../../lib/icon.js';
import { attempt, confirm } from '../../lib/layers.js';
import { rightsIn } from '../../lib/rights.js';

const retry = (vhost, queue, body) => api.post(`x/waiting/${path`${vhost}/${queue}`}/retry`, body);
const said = (n) => t('waiting.retried', { n });

const portion = 1000;
const portionsMax = 5;

// timedIn counts what waits in a queue for its delivery time, and was never delivered: n, or more of a long list.
async function timedIn(vhost, queue) {
  let n = 0;
  let after = '';
  for (let i = 0; i < portionsMax; i++) {
    const { items, next } = await api.get(`x/waiting/${path`${vhost}/${queue}`}`, { limit: portion, after });
    n += items.filter((m) => m.why === 'delivery-time').length;
    if (!next) return n;
    after = next;
  }
  return Math.max(n, 1);
}

// retryNow makes messages of a queue ready: body is {ids} or {all: true}. It says how many, and returns whether that worked. Those that
// wait for their delivery time, timed of them, are no retries: it asks about them.
export async function retryNow(vhost, queue, body, timed = 0) {
  if (body.all && !(await attempt(async () => (timed = await timedIn(vhost, queue))))) return false;
  const sure =
    timed === 0 ||
    (await confirm({
      title: t('waiting.timed_title'),
      text: t('waiting.timed', { n: timed }),
      action: t('waiting.timed_too'),
      danger: true,
    }));
  return (
    sure &&
    attempt(
      () => retry(vhost, queue, body),
      (a) => said(a.count),
    )
  );
}

// RetryNow is the button for those of some messages that wait, in whatever queues of a virtual host; nothing if none waits. one
// says that they are one message, which may never have been delivered. done is called when they are ready.
export function RetryNow({ messages, one = false, done }) {
  const waiting = messages.filter((m) => m.waiting_id);
  if (waiting.length === 0) return null;
  const { vhost } = waiting[0];
  const queues = [...new Set(waiting.map((m) => m.queue))];
  const run = async () => {
    let n = 0;
    for (const queue of queues) {
      const ids = waiting.filter((m) => m.queue === queue).map((m) => m.waiting_id);
      n += (await retry(vhost, queue, { ids })).count;
    }
    return n;
  };
  return html`<${Action} lacks=${rightsIn(vhost).queue('read', ...queues)} onClick=${() => attempt(run, said).then(done)}><${Icon} name="play" /> ${one ? t(waiting[0].redelivered ? 'waiting.retry_one' : 'waiting.deliver_one') : t('waiting.retry_some', { n: waiting.length })}</${Action}>`;
}

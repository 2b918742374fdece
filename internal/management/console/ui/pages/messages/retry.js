// Messages that wait for a retry, or for their delivery time, are made ready.
import { html } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { Action } from '../../lib/action.js';
import { Icon } from '../../lib/icon.js';
import { attempt } from '../../lib/layers.js';
import { rightsIn } from '../../lib/rights.js';

const retry = (vhost, queue, body) => api.post(`x/waiting/${path`${vhost}/${queue}`}/retry`, body);
const said = (n) => t('waiting.retried', { n });

// retryNow makes messages of a queue ready: body is {ids} or {all: true}. It says how many, and returns whether that worked.
export const retryNow = (vhost, queue, body) =>
  attempt(
    () => retry(vhost, queue, body),
    (a) => said(a.count),
  );

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

// Dialogs that ask which queue is meant, where an action begins without one.
import { html, useState } from '../../lib/html.js';
import { t } from '../../lib/i18n.js';
import { api, path } from '../../lib/api.js';
import { href } from '../../lib/router.js';
import { useData } from '../../lib/live.js';
import { Cancel, Dialog, open, reasonOf } from '../../lib/layers.js';
import { Select } from '../../lib/form.js';
import { Shown } from '../../lib/states.js';
import { rightsIn } from '../../lib/rights.js';
import { Action } from '../../lib/action.js';
import { oneVHost, vhosts } from '../../lib/vhosts.js';
import { NameField } from '../messages/name-field.js';
import { lacksIn } from '../deadletters/lacks.js';
import { beginRedrive } from '../deadletters/redrive.js';
import { purge, remove } from './queue-dialogs.js';

// redriveSome, purgeSome and deleteSome ask for a queue, and open the dialog of the action itself.
export const redriveSome = () =>
  open(ChooseDeadLetters).then(
    (q) => q && beginRedrive(q.vhost, [{ source: { queue: q.name }, filter: '', count: q.messages }]),
  );
export const purgeSome = () =>
  open(ChooseQueue, { title: 'palette.purge_some', right: 'read' }).then((q) => q && purge([q]));
export const deleteSome = () =>
  open(ChooseQueue, { title: 'palette.delete_some', right: 'configure' }).then((q) => q && remove([q]));

// VHostField asks which virtual host, if there are several.
export function VHostField({ value, onInput }) {
  if (vhosts.value.length < 2) return null;
  return html`<${Select} label=${t('queues.vhost')} value=${value} onInput=${onInput} options=${vhosts.value} />`;
}

const buttons = (lacks = '') => html`<${Cancel} />
  <${Action} type="submit" form="choose" className="primary" lacks=${lacks}>${t('choose.go_on')}</${Action}>`;

function ChooseQueue({ close, title, right }) {
  const [vhost, setVHost] = useState(oneVHost.value);
  const [name, setName] = useState('');
  const [error, setError] = useState('');
  const submit = async (e) => {
    e.preventDefault();
    const lacks = rightsIn(vhost).queue(right, name);
    if (lacks) {
      setError(lacks);
      return;
    }
    try {
      close(await api.get(path`queues/${vhost}/${name}`, { columns: 'name,vhost,messages,messages_ready,consumers' }));
    } catch (refusal) {
      setError(refusal.missing ? t('choose.no_queue', { name, vhost }) : reasonOf(refusal));
    }
  };
  const put = (set) => (v) => {
    set(v);
    setError('');
  };
  return html`<${Dialog} title=${t(title)} close=${() => close()} light actions=${buttons()}>
    <form id="choose" onSubmit=${submit}>
      <${NameField} vhost=${vhost} of="queues" label=${t('redrive.queue')} value=${name} onInput=${put(setName)} error=${error} required autofocus />
      <${VHostField} value=${vhost} onInput=${put(setVHost)} />
    </form></${Dialog}>`;
}

// ChooseDeadLetters offers the dead-letter queues in which there are messages.
function ChooseDeadLetters({ close }) {
  const [vhost, setVHost] = useState(oneVHost.value);
  const [name, setName] = useState('');
  const got = useData((signal) => api.get(`x/letters/${path`${vhost}`}/summary`, {}, { signal }), [vhost], {
    every: 0,
  });
  const filled = (got.data?.queues || []).filter((q) => q.messages > 0);
  const chosen = filled.find((q) => q.name === name) || filled[0];
  const lacks = chosen ? lacksIn(vhost, [chosen.name]).redrive : '';
  const submit = (e) => {
    e.preventDefault();
    if (chosen && !lacks) close({ ...chosen, vhost });
  };
  return html`<${Dialog} title=${t('palette.redrive_some')} close=${() => close()} light actions=${buttons(chosen ? lacks : t('choose.no_dead_letters', { vhost }))}>
    <form id="choose" onSubmit=${submit}>
      <${Shown} of=${got}>${() =>
        chosen
          ? html`<${Select} label=${t('choose.dead_letters')} value=${chosen.name} onInput=${setName} error=${lacks} autofocus options=${filled.map((q) => [q.name, t('choose.with_messages', { name: q.name, n: q.messages })])} />`
          : html`<p>${t('choose.no_dead_letters', { vhost })}</p>`}</${Shown}>
      <${VHostField} value=${vhost} onInput=${setVHost} />
      <p class="hint">${t('choose.others')} <a href=${href('/letters', { vhost })}>${t('letters.title')}</a></p>
    </form></${Dialog}>`;
}

// Small marks: why a message died, in what state it is.
import { html } from '../../lib/html.js';
import { has, sentences, t, word } from '../../lib/i18n.js';
import { reasonOf } from '../../lib/layers.js';
import { Icon } from '../../lib/icon.js';
import { read } from './filter-error.js';

// whyWord is why a message died; one that never died and became a lost letter has a cause instead.
const whyWord = (reason) => word(has(`reason.${reason}`) ? 'reason' : 'cause', reason);

export function Reason({ reason, count }) {
  if (!reason) return html`<span class="faint">–</span>`;
  return html`<span class=${`tag reason-${reason}`} title=${reason}><${Icon} name=${reason} />${whyWord(reason)}${count > 1 && html` <b>×${count}</b>`}</span>`;
}

export function State({ state }) {
  return html`<span class=${`tag ${state === 'lost' ? 'bad' : state === 'held' ? 'warn' : ''}`}>${word('state', state)}</span>`;
}

// faultOf says what is wrong with a filter that the broker refused; another refusal in its own words.
export function faultOf(error) {
  const fault = read(error?.reason);
  if (!fault) return reasonOf(error);
  const { kind, term, known } = fault;
  const what =
    kind === 'other' ? fault.text : kind.startsWith('duration.') ? t(kind, fault) : t(`fault.${kind}`, fault);
  return sentences(
    term ? t('filter.fault_at', { term, what }) : what,
    known.length > 0 && t('filter.known', { known: known.join(t('frame.comma')) }),
  );
}

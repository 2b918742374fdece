// What the button that discards says: the messages that are selected, or else all that match.
import { t } from '../../lib/i18n.js';

// discardLabel: selected is how many are, matching how many the dialog would take, undefined if nobody knows. alive says that they are no
// dead letters.
export function discardLabel(selected, matching, alive = false) {
  if (selected > 0) return t(alive ? 'message.discard_n' : 'redrive.discard_n', { n: selected });
  if (matching > 0) return t(alive ? 'message.discard_all' : 'redrive.discard_all', { n: matching });
  return t(alive ? 'message.discard_matching' : 'redrive.discard_matching');
}

// What the button that discards says: the messages that are selected, or else all that match.
import { t } from '../../lib/i18n.js';

// discardLabel: selected is how many are, matching how many the dialog would take, undefined if nobody knows.
export function discardLabel(selected, matching) {
  if (selected > 0) return t('redrive.discard_n', { n: selected });
  return matching > 0 ? t('redrive.discard_all', { n: matching }) : t('redrive.discard_matching');
}

// What is missing to redrive, edit or discard dead letters: texts, '' if nothing.
import { first, lacksTag, rightsIn } from '../../lib/rights.js';

// lacksIn is what is missing for any dead letters of a virtual host, or for those in some queues. Where they go is for the dry run to say;
// who may publish nothing cannot send any.
export function lacksIn(vhost, queues = []) {
  const rights = rightsIn(vhost);
  const read = rights.queue('read', ...queues);
  return {
    redrive: first(rights.deadLetters('redrive'), read, rights.any('write')),
    edit: first(rights.deadLetters('edit'), read, rights.any('write')),
    discard: first(
      rights.deadLetters('discard'),
      read,
      queues.length > 0 ? rights.queue('configure', ...queues) : rights.any('configure'),
    ),
  };
}

// lacksFor is the same for one dead letter. Lost letters are for policymakers.
export function lacksFor({ vhost, place, queue }) {
  if (place !== 'lost') return lacksIn(vhost, [queue]);
  const lacks = lacksTag('policymaker');
  const rights = rightsIn(vhost);
  return {
    redrive: first(rights.deadLetters('redrive'), lacks),
    edit: first(rights.deadLetters('edit'), lacks, rights.any('write')),
    discard: lacks,
  };
}

// lacksForAll is the same for those that are selected, or for any if none is.
export function lacksForAll(vhost, chosen) {
  if (chosen.length === 0) return lacksIn(vhost);
  const all = chosen.map(lacksFor);
  return {
    redrive: first(...all.map((x) => x.redrive)),
    discard: first(...all.map((x) => x.discard)),
  };
}

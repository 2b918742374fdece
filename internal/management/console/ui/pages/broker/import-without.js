// What an import of definitions leaves out because the broker refuses it. Pure.

const kindOf = { queues: 'queue', exchanges: 'exchange', policies: 'policy', users: 'user' };

// labelOf is how the broker names an object of a document in a refusal, '' if it names none of that kind by itself.
function labelOf(kind, x, vhost) {
  const within = ` in vhost '${vhost || x.vhost}'`; // an import into one virtual host ignores what objects name
  if (kind === 'users') return `user '${x.name}'`;
  if (kindOf[kind]) return `${kindOf[kind]} '${x.name}'${within}`;
  if (kind === 'global_parameters') return `global parameter '${x.name}'`;
  if (kind === 'parameters' && x.component === 'vhost-limits') return `limits of vhost '${vhost || x.vhost}'`;
  if (kind === 'parameters') return `parameter '${x.name}' of component '${x.component}'${within}`;
  if (kind === 'permissions') return `permissions of user '${x.user}'${within}`;
  if (kind === 'topic_permissions') return `topic permissions of user '${x.user}'${within}`;
  if (kind === 'bindings')
    return `binding of ${x.destination_type} '${x.destination}' to exchange '${x.source}'${within}`;
  return '';
}

// without leaves out of a document what refusals name: {document, left}, left the labels of those objects. What is refused for another
// reason, such as a limit, stays.
export function without(document, refusals, vhost) {
  const starts = new Set(refusals.flatMap((text) => [...text.matchAll(/: /g)].map((m) => text.slice(0, m.index))));
  const rest = { ...document };
  const left = [];
  for (const [kind, all] of Object.entries(document)) {
    if (!Array.isArray(all)) continue;
    rest[kind] = all.filter((x) => {
      const label = labelOf(kind, x, vhost);
      if (!label || !starts.has(label)) return true;
      left.push(label);
      return false;
    });
  }
  return { document: rest, left };
}

// leaveOut asks again without what is refused until nothing is, or only what names no object: {document, left, refusals}. What refers to
// an object that is left out is refused in the next round. check answers with the refusals of a document.
export async function leaveOut(document, refusals, vhost, check) {
  const left = [];
  for (;;) {
    const next = without(document, refusals, vhost);
    if (next.left.length === 0) return { document, left, refusals };
    left.push(...next.left);
    document = next.document;
    refusals = await check(document);
  }
}

// Names of queues. Pure.

// nameTrouble says what is wrong with a queue's name, as the key of a message; '' if nothing is. strict: only what ApsaraMQ takes.
export function nameTrouble(name, strict) {
  if (!name) return 'name.empty';
  if (new TextEncoder().encode(name).length > 255) return 'name.long';
  if (name.startsWith('amq.')) return 'name.amq';
  if (/[\r\n]/.test(name)) return 'name.line';
  if (strict && !/^[\w\-.#/@]+$/.test(name)) return 'name.strict';
  return '';
}

// patternOf is the pattern of a policy for these names and no others.
export function patternOf(names) {
  const plain = names.map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return plain.length === 1 ? `^${plain[0]}$` : `^(${plain.join('|')})$`;
}

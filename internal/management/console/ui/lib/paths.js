// Patterns of paths: /queues/:vhost/:name. Pure.

// matchPath returns what a pattern's names stand for in a path, unescaped; null if it does not fit.
export function matchPath(pattern, path) {
  const want = pattern.split('/');
  const got = path.replace(/(.)\/$/, '$1').split('/');
  if (want.length !== got.length) return null;
  const params = {};
  for (let i = 0; i < want.length; i++) {
    if (!want[i].startsWith(':')) {
      if (want[i] !== got[i]) return null;
      continue;
    }
    if (!got[i]) return null;
    try {
      params[want[i].slice(1)] = decodeURIComponent(got[i]);
    } catch {
      return null; // no escape
    }
  }
  return params;
}

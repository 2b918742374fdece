// Patterns of paths: /queues/:vhost/:name; and where the documentation is. Pure.

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

// chinese are pages and sections in Chinese, by the English page; a test compares them with docs/zh-CN.
const names = [
  'dead-letters',
  'delayed-messages',
  'filters',
  'handling-dead-letters',
  'metrics',
  'retries-and-limits',
  'scheduled-messages',
  'users',
];
export const chinese = {
  docs: 'README.zh-CN.md#更多文档',
  'docs/backup.md': 'docs/zh-CN.md#备份与修复',
  ...Object.fromEntries(names.map((name) => [`docs/${name}.md`, `docs/zh-CN/${name}.md`])),
};

// addressOf is the address of a page, by its path in the project.
export const addressOf = (page, lang) =>
  `https://github.com/bartleby-mq/bartleby/blob/main/${(lang === 'zh-CN' && chinese[page]) || page}`;

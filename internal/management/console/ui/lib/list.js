// Sources of rows for a Table. Each keeps what is asked for (page, order, filter) in the address, under a prefix if there are
// several on a page, and returns {rows, total, filtered, page, pages, size, sort, reverse, text, loading, error, change, refresh}.
import { useMemo } from './html.js';
import { api } from './api.js';
import { route, setQuery } from './router.js';
import { useData } from './live.js';
import { isRegex, order, matches } from './order.js';

const sizeUsual = 50;

function asked(prefix, usual) {
  const q = route.value.query;
  return {
    page: Math.max(1, Number(q[prefix + 'page']) || 1),
    size: Math.min(500, Number(q[prefix + 'size']) || usual.size || sizeUsual),
    sort: q[prefix + 'sort'] || usual.sort || '',
    reverse: (q[prefix + 'desc'] ?? (usual.reverse ? '1' : '')) === '1',
    text: q[prefix + 'name'] || '',
    regex: q[prefix + 'regex'] === '1',
  };
}

// change alters what is asked for; another filter or order begins at the first page.
function changer(prefix, usual) {
  return (patch) => {
    const out = {};
    for (const [k, v] of Object.entries(patch)) {
      if (k === 'page') out[prefix + 'page'] = v > 1 ? v : '';
      if (k === 'size') out[prefix + 'size'] = v === (usual.size || sizeUsual) ? '' : v;
      if (k === 'sort') out[prefix + 'sort'] = v;
      if (k === 'reverse') out[prefix + 'desc'] = v ? '1' : usual.reverse ? '0' : '';
      if (k === 'text') out[prefix + 'name'] = v;
      if (k === 'regex') out[prefix + 'regex'] = v ? '1' : '';
    }
    if (!('page' in patch)) out[prefix + 'page'] = '';
    setQuery(out);
  };
}

// useServerList asks for one page of a list of the API, which sorts and filters: path as for api.get, '' for nothing yet. query is
// added to what is asked for; usual is {sort, reverse, size}; on are topics.
export function useServerList(path, { query = {}, prefix = '', usual = {}, on = [], every = 5000 } = {}) {
  const a = asked(prefix, usual);
  const got = useData(
    (abort) =>
      api.get(
        path,
        {
          page: a.page,
          page_size: a.size,
          sort: a.sort,
          sort_reverse: a.reverse || '',
          name: a.text,
          use_regex: a.regex || '',
          pagination: 'true',
          ...query,
        },
        { signal: abort },
      ),
    [path, a, query],
    { on, every, enabled: !!path },
  );
  // A list that became shorter has no such page any more.
  const past = got.error?.kind === 'page_out_of_range';
  if (past && a.page > 1) setQuery({ [prefix + 'page']: '' });
  const wrong = a.regex && a.text !== '' && got.error?.status === 400 && !past; // the rows before are of another filter
  const d = (!wrong && got.data) || {};
  return {
    ...a,
    rows: d.items || [],
    total: d.total_count ?? 0,
    filtered: d.filtered_count ?? 0,
    pages: d.page_count ?? 1,
    server: true,
    known: !!got.data || wrong,
    loading: got.loading,
    error: past || wrong ? null : got.error,
    wrong,
    at: got.at,
    change: changer(prefix, usual),
    refresh: got.refresh,
  };
}

/** @typedef {{prefix?: string, usual?: object, search?: (row: any) => string}} Rows */
// useRows sorts and filters rows that are all here: got is what useData returned, or {data: [...]}. They are not paged: the table shows
// what is in view. search makes of a row the text that is filtered; columns as of the table.
export function useRows(got, columns, /** @type {Rows} */ { prefix = '', usual = {}, search } = {}) {
  const a = asked(prefix, usual);
  const all = got.data || [];
  const rows = useMemo(() => {
    const by = columns.find((c) => c.key === a.sort);
    const text = search || ((row) => columns.map((c) => (c.value ? c.value(row) : row[c.key])).join(' '));
    const kept = a.text ? all.filter((row) => matches(text(row), a.text, a.regex)) : all;
    return by ? order(kept, (row) => (by.value ? by.value(row) : row[by.key]), a.reverse) : kept;
  }, [all, a.sort, a.reverse, a.text, a.regex]);
  return {
    ...a,
    rows,
    total: all.length,
    filtered: rows.length,
    page: 1,
    pages: 1,
    server: false,
    known: got.data !== undefined,
    loading: got.loading,
    error: got.error,
    wrong: a.regex && !isRegex(a.text),
    at: got.at,
    change: changer(prefix, usual),
    refresh: got.refresh,
  };
}

// The topology as a drawing and as a nested list. Pure: the layout is dagre's, which is handed in.

// connected leaves out exchanges that nothing leads to and from.
export function connected(topology) {
  const used = new Set(topology.edges.flatMap((e) => [e.from, e.to]));
  return {
    ...topology,
    nodes: topology.nodes.filter((n) => n.kind === 'queue' || used.has(n.id) || n.id === topology.root),
  };
}

// shorten keeps the beginning and the end of a name.
export function shorten(name, most = 26) {
  const all = [...name];
  return all.length <= most
    ? name
    : `${all.slice(0, Math.ceil(most * 0.6)).join('')}…${all.slice(-Math.floor(most * 0.35)).join('')}`;
}

// wide characters, as Chinese ones, take twice the room.
const width = (text) => [...text].reduce((n, c) => n + (c.codePointAt(0) > 0x2e7f ? 13 : 7.4), 0);

// labelOf is what stands at an edge: ownKeys is the word for messages that keep their keys.
export function labelOf(e, ownKeys) {
  if (e.kind === 'dead_letter') return e.own_keys ? ownKeys : e.keys.join(', ');
  const keys = e.keys.filter((k) => k !== '').map((k) => shorten(k, 18));
  const more = e.count - e.keys.length;
  return [...keys.slice(0, 2), ...(keys.length > 2 || more > 0 ? ['…'] : [])].join(', ');
}

// deadEnd tells whether dead letters come to a queue and nothing takes them on from there.
export const deadEnd = (n) =>
  !!n.queue && n.queue.letters && n.queue.consumers === 0 && n.queue.dead_letter_exchange === null;

// layout places nodes and edges: {width, height, nodes: [{node, x, y, w, h, title}], edges: [{edge, points, label, x, y}]}, x and y being middles. Nodes are in the
// order in which they are read and Tab visits them: columns from left to right, each from top to bottom. ranksep is how far apart columns are.
export function layout({ Graph, layout: place }, topology, { ownKeys, defaultExchange, ranksep = 90 }) {
  const g = new Graph({ multigraph: true });
  g.setGraph({ rankdir: 'LR', nodesep: 26, ranksep, marginx: 24, marginy: 24 });
  g.setDefaultEdgeLabel(() => ({}));
  const titles = new Map();
  for (const n of topology.nodes) {
    const title = shorten(n.name || (n.kind === 'exchange' ? defaultExchange : ''));
    titles.set(n.id, title);
    g.setNode(n.id, { width: Math.max(110, width(title) + 44, width(n.type) * 0.85 + 40), height: 46 });
  }
  topology.edges.forEach((e, i) => {
    if (!titles.has(e.from) || !titles.has(e.to)) return;
    const label = labelOf(e, ownKeys);
    const shown = label || e.loop; // a loop has its sign, whatever the label: without room for it dagre does not say where it is
    g.setEdge(
      e.from,
      e.to,
      {
        width: shown ? width(label) * 0.85 + (e.loop ? 20 : 6) : 0,
        height: shown ? 14 : 0,
        labelpos: 'c',
        label,
        at: i,
      },
      String(i),
    );
  });
  place(g);
  const all = g.graph();
  return {
    width: Math.ceil(all.width || 0),
    height: Math.ceil(all.height || 0),
    nodes: topology.nodes
      .map((node) => {
        const p = g.node(node.id);
        return { node, x: p.x, y: p.y, w: p.width, h: p.height, title: titles.get(node.id) };
      })
      .sort((a, b) => (Math.abs(a.x - b.x) > 1 ? a.x - b.x : a.y - b.y)),
    edges: g.edges().map((e) => {
      const p = g.edge(e);
      return { edge: topology.edges[p.at], points: p.points, label: p.label, x: p.x, y: p.y };
    }),
  };
}

// curve is the path of an edge through its points.
export function curve(points) {
  const f = (n) => Math.round(n * 10) / 10;
  const [first, ...rest] = points;
  let d = `M${f(first.x)} ${f(first.y)}`;
  for (let i = 0; i < rest.length - 1; i++) {
    const middle = { x: (rest[i].x + rest[i + 1].x) / 2, y: (rest[i].y + rest[i + 1].y) / 2 };
    d += `Q${f(rest[i].x)} ${f(rest[i].y)} ${f(middle.x)} ${f(middle.y)}`;
  }
  const last = rest.at(-1) || first;
  return `${d}L${f(last.x)} ${f(last.y)}`;
}

// tree is the same as a nested list: [{node, edge, again, children}]. It begins where nothing leads to; what was told above is not told again.
export function tree(topology) {
  const byID = new Map(topology.nodes.map((n) => [n.id, n]));
  const out = new Map(topology.nodes.map((n) => [n.id, []]));
  const led = new Set();
  for (const e of topology.edges) {
    if (!byID.has(e.from) || !byID.has(e.to)) continue;
    out.get(e.from).push(e);
    led.add(e.to);
  }
  const told = new Set();
  const tell = (id, edge) => {
    const again = told.has(id);
    told.add(id);
    return { node: byID.get(id), edge, again, children: again ? [] : out.get(id).map((e) => tell(e.to, e)) };
  };
  const roots = [];
  const order = [...topology.nodes.filter((n) => !led.has(n.id)), ...topology.nodes];
  if (topology.root && byID.has(topology.root)) order.unshift(byID.get(topology.root));
  for (const n of order) if (!told.has(n.id)) roots.push(tell(n.id, null));
  return roots;
}

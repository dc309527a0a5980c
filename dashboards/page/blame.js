// Which routers, links and queues are to blame for the trouble of now, and of which paths.

const MOST = 200; // paths that are looked at
const TOLD = 2; // of those that blame the same

// Returns functions from a router, an edge and a queue to the paths that blame it, as text; empty: none.
export function blame({ paths, routers }) {
  const troubled = [...paths.values()].filter((p) => p.where?.now && p.where.hop).slice(0, MOST);
  const known = new Set(routers.map((r) => `${r.mesh}\n${r.router}`));
  // A path may lead into another mesh; routers of its own have precedence.
  const here = (path, mesh) => mesh === path.mesh || !known.has(`${path.mesh}\n${path.where.at}`);
  const told = (matches) => {
    const names = troubled.filter(matches).map((path) => path.name);
    return names.slice(0, TOLD).join(", ") + (names.length > TOLD ? ` and ${names.length - TOLD} more` : "");
  };
  return {
    ofRouter: (r) => told((p) => ["router", "end"].includes(p.where.hop_kind) && p.where.at === r.router && here(p, r.mesh)),
    ofEdge: (e) => told((p) => p.where.hop_kind === "link" && here(p, e.mesh)
      && ((p.where.at === e.source && p.where.to === e.target) || (p.where.at === e.target && p.where.to === e.source))),
    ofQueue: (q) => told((p) => p.where.hop_kind === "queue" && p.where.at === q.broker && p.where.to === q.queue),
  };
}

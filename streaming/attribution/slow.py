"""Finds when a path is slow, and how much of the delay each hop accounts for."""

from __future__ import annotations

from typing import Final

from streaming.attribution.episodes import Episode, regroup
from streaming.attribution.network import Network
from streaming.attribution.path_windows import PathWindows
from streaming.attribution.places import Place
from streaming.attribution.routes import Route, find_route
from streaming.attribution.scene import RECEIVER
from streaming.attribution.waiting import messages

TIMES: Final = 3  # what is normal
LEAST_NS: Final = 10_000_000  # above it; an objective's bound may be nearer
MOST_WAITS: Final = 64
SILENT_INTERVALS: Final = 2
_MS_NS: Final = 1_000_000


class Slowness:
    """Keeps each path's normal, and its slow episodes."""

    def __init__(self, network: Network) -> None:
        self._network = network

    def group(
        self,
        episodes: list[Episode],
        path: PathWindows,
        place: Place,
        *,
        now_ns: int,
        changed: bool,
        ended: bool,
    ) -> list[Episode]:
        """Return the episodes with the slow ones as they are now; those that are open look for where."""
        normal_ns = path.normal.median_ns() or 0
        if changed or ended:
            self._judge(episodes, path, _bound_ns(normal_ns, place))
            slow = [start for start, window in path.windows.items() if window.slow]
            episodes = regroup(episodes, "slow", slow, path, ended=ended)
        self._look(path, place, _bound_ns(normal_ns, place), now_ns)
        for episode in episodes:
            going_on = episode.open or not episode.final
            if episode.kind == "slow" and episode.starts and going_on:
                episode.normal_ns = episode.normal_ns or normal_ns
                _usual(episode, path, place)
        return episodes

    def _look(self, path: PathWindows, place: Place, bound_ns: int, now_ns: int) -> None:
        """Note where messages wait while they are late: once their windows are final they wait no more."""
        if path.suspect or (bound_ns and path.live_slow_ns > bound_ns):
            found = {hop: (text, delay_ns) for hop, (delay_ns, text) in self._delays(path, place).items()}
            path.waits.append((now_ns, found))
            del path.waits[:-MOST_WAITS]

    def _judge(self, episodes: list[Episode], path: PathWindows, bound_ns: int) -> None:
        """Hold new windows against what is normal, and add those to it that are.

        Else the fault becomes normal. What is missing is told with its own episode.
        """
        slow = any(each.kind == "slow" and each.open for each in episodes)
        for start in sorted(start for start in path.windows if start > path.judged_ns):
            window = path.windows[start]
            window.slow = bool(bound_ns) and window.slow_ns > bound_ns and not window.missing
            if not (slow or window.slow or window.missing):
                path.normal.add(start, window.slow_ns)
            path.judged_ns = start

    def _delays(self, path: PathWindows, place: Place) -> dict[str, tuple[int, str]]:
        """Return for how long a message waits at each hop of the way now, by backlog over rate."""
        found: dict[str, tuple[int, str]] = {}
        network = self._network
        route = find_route(network, path, place, max(path.windows, default=0) - 60_000 * _MS_NS)
        broker = network.brokers.get(place.via or "")
        queue = broker.queues.get(route.queue) if broker else None
        if queue is not None and queue.messages:
            text = f"{messages(queue.messages)}, {queue.out_rate:,.0f}/s out"
            found[f"queue\0{place.via}\0{route.queue}"] = (_drain_ns(queue.messages, queue.out_rate), text)
        if broker is not None and broker.gc_added_ms:
            text = f"collection pauses of {broker.gc_added_ms:,} ms in a poll's interval"
            found.setdefault(f"queue\0{place.via}\0{route.queue}", (broker.gc_added_ms * _MS_NS, text))
        found |= self._on_links(place, route)
        return found

    def _on_links(self, place: Place, route: Route) -> dict[str, tuple[int, str]]:
        found: dict[str, tuple[int, str]] = {}
        for router, link in self._network.ends((*place.sent_to, place.receive_address), "out"):
            held = link.undelivered + (link.unsettled if link.zero_credit_seconds else 0)
            if held:
                to = RECEIVER if link.own else place.via or RECEIVER
                credit = f", no credit for {link.zero_credit_seconds:,} s" if link.zero_credit_seconds else ""
                delay_ns = max(_drain_ns(held, link.rate), link.zero_credit_seconds * 10**9)
                found[f"end\0{router}\0{to}"] = (
                    delay_ns,
                    f"{held:,} waiting, {link.rate:,.0f}/s out{credit}",
                )
        for one, other in route.links:
            links = self._network.between(one, other)
            held = sum(link.undelivered for link in links)
            stuck = sum(link.unsettled for link in links if link.stuck_ns)
            if held or stuck:
                rate = sum(link.rate for link in links)
                since_ns = max((link.stuck_ns for link in links), default=0)
                text = f"{held + stuck:,} waiting, {rate:,.0f}/s out"
                found[f"link\0{one}\0{other}"] = (max(_drain_ns(held, rate), since_ns), text)
        found |= self._unreachable(place, route)
        return found

    def _unreachable(self, place: Place, route: Route) -> dict[str, tuple[int, str]]:
        """A router that does not answer though its link stands: the link is stalled, or the router hangs."""
        found: dict[str, tuple[int, str]] = {}
        for name in place.meshes:
            mesh = self._network.meshes.get(name)
            for one, other in route.links if mesh else ():
                assert mesh is not None  # noqa: S101 -- for mypy
                near, far, link = mesh.routers.get(one), mesh.routers.get(other), mesh.link(one, other)
                if near and far and link and near.up and link.up and not far.up and far.spans:
                    since_ns = far.told_ns - far.spans[-1][0]
                    if since_ns < SILENT_INTERVALS * place.interval_ns:
                        continue  # it may just have died
                    text = f"{other} has not answered for {since_ns / 1e9:.0f} s, though its link stands"
                    found[f"link\0{one}\0{other}"] = (since_ns, text)
        return found


def _drain_ns(held: int, rate: float) -> int:
    return round(held / rate * 1e9) if rate > 0 else 0


def _bound_ns(normal_ns: int, place: Place) -> int:
    """Return above what a window is slow; 0 while nothing is known."""
    bounds = [max(TIMES * normal_ns, normal_ns + LEAST_NS)] if normal_ns else []
    bounds += [place.slow_ns] if place.slow_ns else []
    return min(bounds, default=0)


def _usual(episode: Episode, path: PathWindows, place: Place) -> None:
    """Give an episode the usual delay of each hop at which something waited most times that one looked."""
    from_ns, to_ns = episode.starts[0], episode.starts[-1] + path.window_ns + place.settle_ns
    looked = [found for at_ns, found in path.waits if from_ns <= at_ns <= to_ns]
    if not looked:
        return
    episode.delays = {}
    for hop in dict.fromkeys(hop for found in looked for hop in found):
        seen = sorted((found[hop] for found in looked if hop in found), key=lambda one: one[1])
        if 2 * len(seen) >= len(looked):
            episode.delays[hop] = seen[len(seen) // 2]

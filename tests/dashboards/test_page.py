"""The live page in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from attribution_rows import episode, hop
from browser import Browser, Page
from made_exporter import Served, recent
from made_rows import SECOND, live, window

import dashboards
from collectors.contract.events import Event

pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=\"document.title='owned'\">"
RULES = sorted((Path(dashboards.__file__).parent / "rules").rglob("*.rules.yml"))
ROW = "document.querySelector('tr[data-path=\"{}\"]')"


def row(name: str = "east-west") -> str:
    return ROW.format(name)


def test_values_are_those_of_metrics(page: Page, served: Served) -> None:
    """What the page says of a path, exact to the last digit, is what /metrics says."""
    now = recent()
    values = [n * 37_123 for n in range(1, 201)]
    served.exporter.apply_window(window(number=now - 1, values_ns=values, lost=3, refused=2, unobserved=1))
    served.exporter.apply_window(window(number=now, values_ns=values, lost=1))
    moved = {"lost>received": 2}
    served.exporter.apply_window(
        window(
            number=now - 1,
            values_ns=[*values, 1, 2],
            lost=1,
            refused=2,
            unobserved=1,
            revision=1,
            moves=moved,
        )
    )
    served.exporter.apply_live(live(number=now, pending=17))
    page.evaluate(f"{row()}.querySelector('button').click()")
    exact = "document.querySelector('tr.details [data-key=\"{}\"]')?.value"
    page.wait(f"{exact.format('pending')} === '17'", "the newest state")

    def shown(key: str) -> float:
        return float(page.evaluate(exact.format(key)))

    assert shown("sent") == served.metric("path_sent_messages_total")
    for name in ("received", "refused", "lost", "unobserved"):
        assert shown(f"class-{name}") == served.metric("path_messages_total", **{"class": name})
        assert shown(f"window-{name}") == served.metric("path_window_messages", **{"class": name})
    reclassified = served.metric("path_reclassified_messages_total", **{"from": "lost", "to": "received"})
    assert shown("moved-lost>received") == reclassified == 2
    for key, quantile in (("50", "0.5"), ("99", "0.99"), ("max", "1")):
        for basis in ("response", "service"):
            metric = served.metric("path_window_latency_seconds", basis=basis, quantile=quantile)
            assert shown(f"{basis}-{key}") == metric
    assert shown("jitter-50") == served.metric("path_window_jitter_seconds", quantile="0.5")
    for slo in ("delivery", "latency"):
        assert shown(f"slo-{slo}-good") == served.metric("path_slo_good_messages_total", slo=slo)
        assert shown(f"slo-{slo}-total") == served.metric("path_slo_messages_total", slo=slo)
    assert page.evaluate(f"{row()}.querySelectorAll('data')[4].value") == "4"  # lost, in the table itself


def test_survives_a_restart_of_the_exporter(page: Page, served: Served) -> None:
    """The page says that there is no news, and goes on by itself when the exporter is back."""
    served.exporter.apply_window(window(number=recent(), lost=2))
    page.wait(f"{row()}.innerText.includes('losing')", "the loss")
    served.close()
    page.wait("document.getElementById('link').innerText.includes('no news')", "the page to notice", 20)
    served.start()
    page.wait("document.getElementById('link').innerText === 'live'", "the page to come back", 20)
    served.exporter.apply_window(window(number=recent(), lost=7))
    page.wait(f"{row()}.querySelectorAll('data')[4].value === '7'", "the new exporter's count")


def test_a_path_that_vanished_leaves_the_page(page: Page, served: Served) -> None:
    """With its details, if they are open."""
    served.exporter.apply_window(window("guest", recent()))
    page.wait(row("guest"), "the path")
    page.evaluate(f"{row('guest')}.querySelector('button').click()")
    with served.exporter.lock:
        del served.exporter.paths["guest"]
    page.wait(f"{row('guest')} === null && document.querySelector('tr.details') === null", "it to go")
    assert page.mistakes() == []


def test_the_blamed_hop_is_red(page: Page, served: Served) -> None:
    """Its sentence under the path; the router, the link or the queue in the drawing and in its row."""
    now = recent()
    served.put_line()
    served.exporter.apply_window(window("guest", now))
    served.exporter.apply_attribution(episode("guest", now, hops=[hop("artemis: orders")]))
    served.exporter.apply_attribution(episode(number=now, hops=[hop("A → B")]))
    page.wait(
        f"{row()}.querySelector('.where.alarm')?.innerText.startsWith('214 of 500 lost')", "the sentence"
    )
    page.wait("document.querySelector('#graph line.blamed')", "the link in the drawing")
    page.wait(
        "document.querySelector('#edges td.blamed')?.innerText.includes('to blame for east-west')", "its row"
    )
    queue = "document.querySelector('#queues th.blamed')?.innerText"
    page.wait(f"{queue} === 'orders, to blame for guest'", "the queue's row")
    served.exporter.apply_attribution(episode(number=now, revision=1))
    page.wait("document.querySelector('#graph g.blamed')?.textContent.startsWith('C')", "the router")
    page.evaluate(f"{row()}.querySelector('button').click()")
    said = "document.querySelector('tr.details [data-key=\"where-said\"]')?.value"
    page.wait(f"{said} === '211'", "the details")
    assert page.mistakes() == []


def test_hostile_names_stay_text(page: Page, served: Served) -> None:
    """A path, a queue, a router and an event that look like HTML are shown as they are, and do nothing."""
    served.exporter.apply_window(
        window(HOSTILE, recent(), address=HOSTILE, source=HOSTILE, routes={HOSTILE: 3})
    )
    served.exporter.apply_event(Event(1, None, "fault", (HOSTILE,), HOSTILE))
    served.exporter.apply_attribution(
        episode(HOSTILE, recent(), hops=[hop(HOSTILE, kind="router")], sentence=HOSTILE)
    )
    served.put_line()
    served.put_router("", "mesh", [{"kind": "router", "router": HOSTILE, "up": True}], poll=2)
    served.put_broker("artemis", "queue", [{"queue": HOSTILE, "messages": 1}], poll=2)
    hostile = dict.fromkeys(("kind", "link", "to", "queue", "state"), HOSTILE)
    served.put_broker("artemis", "broker_link", [hostile], poll=2)
    page.wait("document.querySelector('#queues tbody tr')?.innerText.includes('<img')", "the queue")
    page.wait("document.querySelector('#broker-links tbody tr')?.innerText.includes('<img')", "the link")
    page.evaluate("[...document.querySelectorAll('#paths button')].at(-1).click()")
    page.evaluate("document.querySelectorAll('#paths tbody button').forEach((b) => b.click())")
    page.wait("document.querySelector('tr.details')", "the details")
    names = page.evaluate(
        "[...document.querySelectorAll('#paths tbody th button')].map((b) => b.textContent)"
    )
    assert HOSTILE in names
    assert page.evaluate("document.querySelectorAll('img, script:not([src])').length") == 0
    assert "owned" not in str(page.evaluate("document.title"))
    assert page.mistakes() == []


def test_asks_nobody_else(page: Page, served: Served) -> None:
    """Everything comes from the exporter itself, and its policy forbids anything else."""
    served.put_line()
    page.wait("document.querySelector('#routers tbody tr')", "the routers")
    asked = {event["request"]["url"] for event in page.happened("Network.requestWillBeSent")}
    assert asked
    assert all(url.startswith((served.url, "data:")) for url in asked), asked
    assert page.evaluate("fetch('http://127.0.0.1:1/').then(() => 'asked', () => 'refused')") == "refused"
    refused = page.evaluate("fetch('/').then((r) => r.headers.get('content-security-policy'))")
    assert "default-src 'none'" in refused


def test_shows_mesh_and_queues(page: Page, served: Served) -> None:
    """Routers, links and queues have their state in words; a router that dies is told at once."""
    served.put_line()
    page.wait("document.querySelectorAll('#routers tbody tr').length === 3", "the routers")
    assert "A — B up" in page.evaluate(
        "document.querySelector('#edges tbody tr').innerText.replaceAll('\\t', ' ')"
    )
    assert page.evaluate("document.querySelector('#graph svg').getAttribute('aria-label')").startswith(
        "3 routers"
    )
    assert page.evaluate("document.querySelector('#queues tbody tr').cells[0].innerText") == "orders"
    assert page.evaluate("document.querySelector('#queues tbody tr').cells[2].className") == "alarm"
    links = page.evaluate(
        "[...document.querySelectorAll('#broker-links tbody tr')]"
        ".map((row) => [...row.cells].map((cell) => cell.innerText))"
    )
    assert links == [
        ["orders-to-two", "artemis", "bridge", "two", "down", "12", "–", "–"],
        ["two", "artemis", "mirror", "two:61616", "up", "0", "0", "1"],
    ]
    served.put_line(b_up=False)
    page.wait("document.querySelector('#routers').innerText.includes('DOWN')", "the dead router")
    assert page.evaluate("document.querySelectorAll('#graph line.down').length") == 2
    assert page.evaluate("document.querySelector('#routers td.warn').innerText") == "up: cut off from A"
    boxes = page.evaluate("[...document.querySelectorAll('#graph text.small')].map((t) => t.textContent)")
    assert sorted(boxes) == ["DOWN", "cut off", "up"]


def test_tells_events_and_maintenance(page: Page, served: Served) -> None:
    """A marked stretch is on the page and on its paths while it lasts."""
    now = recent() * 5 * SECOND + 1_700_000_000 * SECOND
    served.exporter.apply_event(Event(now, now + 600 * SECOND, "maintenance", ("east-*",), "new cable"))
    page.wait("document.getElementById('events').innerText.includes('new cable')", "the event")
    page.wait(f"{row()}.innerText.includes('maintenance')", "the path's mark")


def test_tells_what_a_fault_did(page: Page, served: Served) -> None:
    """How soon it was seen, and how soon after its end it was over."""
    number = recent() - 4
    now = number * 5 * SECOND + 1_700_000_000 * SECOND
    served.exporter.apply_event(Event(now, None, "fault", (), "cut", "cut", "A--B"))
    page.wait(
        "/fault, since \\d+ s: cut/.test(document.getElementById('events').innerText)", "that it goes on"
    )
    served.exporter.apply_event(Event(now, now + 2 * SECOND, "fault", (), "cut", "cut", "A--B"))
    served.exporter.apply_window(window("east-west", number, lost=3))
    served.exporter.apply_window(window("east-west", number + 1))
    page.wait(
        "/, seen in \\d+ s, over in 3 s: cut/.test(document.getElementById('events').innerText)", "both"
    )


def test_touches_only_what_changed(page: Page, served: Served) -> None:
    """With 500 paths on show an update of ten changes ten rows: the others' nodes are left alone."""
    now = recent()
    names = [f"path-{number:03}" for number in range(499)]
    for name in names:
        served.exporter.apply_window(window(name, now))
    page.wait("document.getElementById('shown').textContent === 'the first 100 of 500'", "the paths")
    page.wait("document.querySelectorAll('#paths tbody tr').length === 100", "the first rows")
    page.evaluate("document.getElementById('more').click()")
    page.wait("document.querySelectorAll('#paths tbody tr').length === 500", "500 paths")
    page.evaluate(
        "window.touched = new Set(); new MutationObserver((all) => all.forEach((one) => {"
        "const node = one.target.nodeType === 3 ? one.target.parentElement : one.target;"
        "const row = node.closest('tr'); if (row) touched.add(row.dataset.path); }))"
        ".observe(document.querySelector('#paths tbody'),"
        " {childList: true, subtree: true, characterData: true, attributes: true})"
    )
    for name in names[:10]:
        served.exporter.apply_window(window(name, now + 1, lost=2))
    page.wait("touched.size >= 10", "the update")
    page.wait(
        "document.querySelector('#paths tbody tr').dataset.path === 'path-000'", "the order: worst first"
    )
    assert set(page.evaluate("[...touched].filter(Boolean)")) == set(names[:10])


def test_sorts_and_filters(page: Page, served: Served) -> None:
    """A column's name sorts, and again the other way round; the filter takes names and states."""
    now = recent()
    for name, lost in (("alpha", 1), ("beta", 5), ("gamma", 3)):
        served.exporter.apply_window(window(name, now, lost=lost))
    page.wait("document.querySelectorAll('#paths tbody tr').length === 4", "the paths")
    order = "[...document.querySelectorAll('#paths tbody tr')].map((r) => r.dataset.path).join()"
    press = (
        "[...document.querySelectorAll('#paths thead button')].find((b) => b.textContent === '{}').click()"
    )

    def comes(expected: str) -> None:
        page.wait(f"{order} === '{expected}'", expected)

    page.evaluate(press.format("lost"))
    comes("beta,gamma,alpha,east-west")
    assert page.evaluate("document.querySelector('th[aria-sort=descending]').innerText") == "lost"
    page.evaluate(press.format("lost"))
    comes("east-west,alpha,gamma,beta")
    page.evaluate(
        "filter = document.getElementById('filter'); filter.value = 'MA';"
        " filter.dispatchEvent(new Event('input'))"
    )
    comes("gamma")
    page.evaluate("filter.value = 'losing'; filter.dispatchEvent(new Event('input'))")
    comes("alpha,gamma,beta")


def test_rows_out_of_sight_are_right_when_they_come_into_sight(page: Page, served: Served) -> None:
    """Of 300 rows those in sight follow at once; the others by and by, or when they are seen."""
    now = recent()
    names = [f"path-{number:03}" for number in range(300)]
    for name in names:
        served.exporter.apply_window(window(name, now, values_ns=[1_000_000] * 100))
    page.wait("document.querySelectorAll('#paths tbody tr').length === 100", "the first rows")
    page.evaluate("document.getElementById('more').click()")
    page.wait("document.querySelectorAll('#paths tbody tr').length === 301", "all rows")
    for name in names:
        served.exporter.apply_window(window(name, now + 1, values_ns=[2_000_000] * 100))
    p99 = "{}.querySelectorAll('data')[1].innerText.startsWith('2')"
    page.wait(p99.format(row("path-000")), "the first row")
    page.evaluate(f"{row('path-299')}.scrollIntoView()")
    page.wait(p99.format(row("path-299")), "the last row, when it is seen")
    every = "[...document.querySelectorAll('#paths tbody tr[data-path^=path]')].every((line) => {})"
    page.wait(every.format(p99.format("line")), "all the others", 40)
    assert page.mistakes() == []


def test_keeps_focus_and_what_was_opened(page: Page, served: Served) -> None:
    """A row that moves up keeps focus and details; one that was filtered away comes back opened."""
    now = recent()
    for name in ("alpha", "beta", "gamma"):
        served.exporter.apply_window(window(name, now))
    page.wait("document.querySelectorAll('#paths tbody tr').length === 4", "the paths")
    page.evaluate(f"{row('gamma')}.querySelector('button').focus(); document.activeElement.click()")
    page.wait("document.querySelector('tr.details')", "the details")
    served.exporter.apply_window(window("gamma", now + 1, lost=2))
    page.wait("document.querySelector('#paths tbody tr').dataset.path === 'gamma'", "it to move up")
    page.wait("document.activeElement.textContent === 'gamma'", "the focus")
    assert page.evaluate(f"{row('gamma')}.nextElementSibling.className") == "details"
    page.evaluate(
        "filter = document.getElementById('filter'); filter.value = 'alpha';"
        " filter.dispatchEvent(new Event('input'))"
    )
    page.wait("document.querySelectorAll('#paths tbody tr').length === 1", "the filter")
    page.evaluate("filter.value = ''; filter.dispatchEvent(new Event('input'))")
    page.wait(f"{row('gamma')}?.nextElementSibling?.className === 'details'", "it to come back as it was")


def test_readable_by_a_screen_reader(page: Page, served: Served) -> None:
    """Tables have names, heads and row heads; a change for the worse is announced."""
    served.exporter.apply_window(window(number=recent(), values_ns=[2_000_000] * 100))
    served.put_line()
    page.wait("document.querySelector('#routers tbody tr')", "the routers")
    page.send("Accessibility.enable")
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    roles: dict[str, set[str]] = {}
    for node in nodes:
        roles.setdefault(node.get("role", {}).get("value", ""), set()).add(
            node.get("name", {}).get("value", "")
        )
    assert {"Routers", "Links between routers"} <= roles["table"]
    assert {"lost", "p99"} <= {name.lower() for name in roles["columnheader"]}
    assert any(name.startswith("east-west") for name in roles["rowheader"])
    assert {"east-west", "lost"} <= roles["button"]
    assert page.evaluate("document.documentElement.lang") == "en"
    served.exporter.apply_window(window(number=recent() + 1, lost=4))
    page.wait("document.getElementById('news').textContent.includes('4 lost')", "the announcement")


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1400, True)])
def test_fits_phones_and_the_night(browser: Browser, served: Served, width: int, *, dark: bool) -> None:
    """Nothing is wider than a phone's screen; at night the page is dark."""
    served.exporter.apply_window(window("a-path-with-" + "a-very-long-name-" * 6, recent(), lost=1))
    served.put_line()
    page = browser.page(served.url, width=width, dark=dark)
    page.wait("document.querySelector('#routers tbody tr')", "the page")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    red = page.evaluate("Number(getComputedStyle(document.body).backgroundColor.match(/\\d+/)[0])")
    assert (red < 128) == dark
    page.close()


def test_the_runbook_is_a_page_with_a_section_for_each_alert(browser: Browser, served: Served) -> None:
    """An alert's link leads to its section, links inside to ones that are there; it fits a phone."""
    page = browser.page(f"{served.url}/runbook#routerdown", width=390)
    page.wait("document.querySelector(':target')?.innerText === 'RouterDown'", "the section")
    ids = set(page.evaluate("[...document.querySelectorAll('h2')].map((h) => h.id)"))
    rules = [
        rule
        for file in RULES
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
    ]
    linked = {rule["annotations"]["runbook_url"].rpartition("#")[2] for rule in rules if "alert" in rule}
    assert linked <= ids
    inside = "[...document.querySelectorAll('main a')].map((a) => a.getAttribute('href'))"
    ids |= set(page.evaluate("[...document.querySelectorAll('h3')].map((h) => h.id)"))
    assert {href.removeprefix("#") for href in page.evaluate(inside)} <= ids
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.mistakes() == []
    page.close()

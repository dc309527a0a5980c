"""Every rule of a topology, by the message that tells of its breach."""

# ruff: noqa: E501, ISC004 -- a table of files and messages

from __future__ import annotations

from pathlib import Path

import pytest

from collectors.config.load import ConfigError
from deploy.topology import load

# Each: what the file has below `version: 1`, and what is told, by line.
MISTAKES = {
    "nothing": ("", ["1: routers: is missing"]),
    "not connected": (
        "routers: {A: {}, B: {}, C: {}}\nlinks:\n- {from: A, to: B}",
        ["2: routers.C: not connected to A: no chain of `links` leads there"],
    ),
    "brokers apart": (
        "routers: {A: {}}\nbrokers:\n  s: {}\n  t: {}\nlinks:\n- {from: s, to: t, by: mirror}",
        ["4: brokers.s: not connected, with t, to A: no chain of `links` leads there"],
    ),
    "a router with the name of a type": (
        "routers:\n  int: {bogus: 1, port: none}",
        [
            "3: routers.int.bogus: unknown key; known here: host, mode, port, mesh_port, edge_port, workers, tls, sasl, entities",
            "3: routers.int.port: should be a valid integer, unable to parse string as an integer",
        ],
    ),
    "a password in a key": (
        "routers:\n  amqp://ops:secret@hub: {}",
        [
            "3: routers.amqp://hub: a name has 1 to 63 letters, digits, dots, dashes or underscores, begins with a letter or digit, and holds no `--`"
        ],
    ),
    "cost 0": (
        "routers: {A: {}, B: {}}\nlinks:\n- {from: A, to: B, cost: 0}",
        ["4: links.0.cost: should be greater than or equal to 1"],
    ),
    "a port twice on one host": (
        "routers:\n  A: {port: 7000}\n  B: {mesh_port: 7000}\nlinks:\n- {from: A, to: B}",
        ["4: routers.B.mesh_port: port 7000 of 127.0.0.1 is taken by routers.A.port"],
    ),
    "two uplinks": (
        "routers: {A: {}, B: {}, E: {mode: edge}}\nlinks:\n- {from: A, to: B}\n- {from: E, to: A}\n- {from: E, to: B}",
        ["2: routers.E: an edge router has one uplink, this one has 2: A, B"],
    ),
    "an edge below an edge": (
        "routers: {A: {}, E: {mode: edge}, F: {mode: edge}}\nlinks:\n- {from: A, to: E}\n- {from: E, to: F}",
        [
            "2: routers.E: an edge router has one uplink, this one has 2: A, F",
            "2: routers.E: its link to F leads to another edge router; an uplink leads to an interior one",
            "2: routers.F: its link to E leads to another edge router; an uplink leads to an interior one",
        ],
    ),
    "a link route of one direction": (
        "routers:\n  A: {entities: {linkRoute: [{prefix: q, direction: in, connection: s}]}}",
        ["3: routers.A.entities.linkRoute.0: q has no link route in the direction out"],
    ),
    "link routes of Skupper": (
        "program: skrouterd\nrouters: {A: {}}\nbrokers: {s: {}}\nlinks:\n- {from: A, to: s, link_routes: q}",
        ["6: links.0.link_routes: skrouterd has no link routes; `queues` makes auto-links"],
    ),
    "a connector that nobody awaits": (
        "routers:\n  A: {}\n  B: {entities: {connector: [{host: A, port: 9, role: inter-router}]}}\n"
        "links:\n- {from: B, to: A}",
        ["4: routers.B.entities.connector.0: A has no inter-router listener on port 9"],
    ),
    "no such node, profile, broker": (
        "routers: {A: {tls: t}}\nlinks:\n- {from: A, to: Z, sasl: s}\npaths:\n  p: {from: A, to: Q, address: a, via: v}",
        [
            "2: routers.A.tls: no TLS profile is called 't'; there are: none",
            "4: links.0.sasl: no SASL profile is called 's'; there are: none",
            "4: links.0.to: no router or broker is called 'Z'; there are: A",
            "6: paths.p.to: no router or broker is called 'Q'; there are: A",
            "6: paths.p.via: no broker is called 'v'; there are: none",
        ],
    ),
    "a link twice": (
        "routers: {A: {}, B: {}}\nlinks:\n- {from: A, to: B}\n- {from: B, to: A}",
        ["5: links.1: links.0 links the two already; `redundancy: 2` makes two connections"],
    ),
    "keys of another kind of link": (
        "routers: {A: {}, B: {}}\nlinks:\n- {from: A, to: B, queues: q}",
        [
            "4: links.0.queues: is not for a link between two routers; for that there are: cost, redundancy, tls, sasl"
        ],
    ),
    "a bridge of nothing": (
        "routers: {A: {}}\nbrokers: {s: {}, t: {}}\nlinks:\n- {from: A, to: s}\n- {from: s, to: t, by: bridge}",
        ["6: links.1.queues: is missing: which queues go to the next broker? (`by: mirror` takes all)"],
    ),
    "names that cannot be files or links": (
        "routers: {../A: {}, x--y: {}}",
        [
            f"2: routers.{name}: a name has 1 to 63 letters, digits, dots, dashes or underscores, begins with a"
            " letter or digit, and holds no `--`"
            for name in ("../A", "x--y")
        ],
    ),
    "a password": (
        "routers:\n  A: {entities: {connector: [{name: c, host: h, port: 1, saslPassword: hidden}]}}",
        [
            "3: routers.A.entities.connector.0: saslPassword must not stand here; write"
            " `saslPassword: file:/name/of/a/file`"
        ],
    ),
    "a text that would become configuration": (
        'routers:\n  A: {entities: {listener: [{port: "1}\\nrouter {"}]}}',
        [
            "3: routers.A.entities.listener.0: a router's configuration cannot hold '1}\\nrouter {':"
            ' none of {}#"\\ and no line break'
        ],
    ),
    "what a router would read as a remark, or as two words": (
        "routers: {A: {}}\naddresses:\n- {prefix: 'a#b', distribution: closest}\n- {pattern: 'a b', distribution: closest}\n"
        "- {pattern: 'a.#.b', distribution: closest}",
        [
            "4: addresses.0.prefix: a router's configuration cannot hold 'a#b': none of {}#\"\\ and no line break",
            "5: addresses.1.pattern: a router's configuration cannot hold 'a b': no blanks in a pattern",
        ],
    ),
    "names of files that would end an option": (
        "tls: {t: {ca: /ca.pem;x=y}}\nsasl: {p: {mechanism: PLAIN, user: u, password_file: here}}\nrouters: {A: {}}",
        [
            "2: tls.t.ca: '/ca.pem;x=y': name a file of the hosts from the root, without blanks and quotes",
            "3: sasl.p.password_file: 'here': name a file of the hosts from the root, without blanks and quotes",
        ],
    ),
    "a broker's secrets and nonsense": (
        "routers: {A: {}}\nbrokers:\n  s: {settings: {cluster-password: x}}\n  t: {settings: {'a><b': 1}}",
        [
            "4: brokers.s.settings: cluster-password must not stand here; it is the instance's own",
            "5: brokers.t.settings: 'a><b' is not a setting of a broker, like max-disk-usage",
        ],
    ),
    "an unknown key": (
        "routers: {A: {}}\nlinks:\n- {from: A, to: A, price: 3}",
        [
            "4: links.0.price: unknown key; known here: from, to, cost, redundancy, queues, link_routes, by, tls, sasl"
        ],
    ),
    "a name twice": ("routers:\n  A: {}\n  A: {}", ["4: routers.A: is there twice; each name stands once"]),
    "an address twice": (
        "routers: {A: {}}\naddresses:\n- {prefix: a, distribution: closest}\n- {prefix: a, distribution: balanced}",
        ["5: addresses.1: a is there twice"],
    ),
    "other TLS at the same listener": (
        "tls: {t: {ca: /ca.pem}}\nrouters: {A: {}, B: {}, C: {}}\n"
        "links:\n- {from: B, to: A}\n- {from: C, to: A, tls: t}",
        ["6: links.1: its profiles are not those of the first link to the same inter-router listener of A"],
    ),
    "certificates that nobody checks": (
        "tls: {t: {ca: /ca.pem, verify: none}}\nrouters: {A: {}}",
        ["2: tls.t: routers always check the chain of certificates; `verify` is name or chain"],
    ),
    "passwords that an old router cannot read": (
        "program: qdrouterd-1.8\nsasl: {p: {mechanism: PLAIN, user: u, password_file: /p}}\n"
        "routers: {A: {}, B: {}}\nlinks:\n- {from: A, to: B, sasl: p}",
        ["3: sasl.p: connectors of qdrouterd 1.8 and 1.9 read no password from a file"],
    ),
    "a setting of a path": (
        "routers: {A: {}}\npaths: {p: {from: A, to: A, address: a, rate: fast}}",
        ["3: paths.p.rate: 'fast' is not a rate; write it like 10/s or 6/m, or 0 for as fast as possible"],
    ),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_mistakes(case: str, tmp_path: Path) -> None:
    """All of a file at once, with file, line, key and reason."""
    text, wanted = MISTAKES[case]
    file = tmp_path / "t.yaml"
    file.write_text(f"version: 1\n{text}\n")
    with pytest.raises(ConfigError) as told:
        load.from_file(file)
    assert told.value.mistakes == [f"{file}:{mistake}" for mistake in wanted]


@pytest.mark.parametrize(
    ("name", "data", "told"),
    [
        ("t.yaml", b"routers: [", ":1: expected the node content, but found '<stream end>'"),
        ("t.yaml", b"\xff\xfe\x00", ": is not UTF-8 text"),
        ("t.yaml", b"- a\n", ":1: the file: should hold keys and values, such as `version: 1` and `routers`"),
        ("hosts", b"", ": names no hosts; it should be an Ansible inventory, or a file called *.yaml"),
        ("hosts", b"[routers]\nr[1:5]\n", ":2: routers: r[1:5]: ranges are not read; write each host"),
        ("hosts", b"[brokers]\nb\n", ":1: routers: needs at least one"),
    ],
)
def test_files_that_are_none(name: str, data: bytes, told: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(data)
    with pytest.raises(ConfigError) as error:
        load.from_file(file)
    assert error.value.mistakes == [f"{file}{told}"]


def test_what_an_inventory_that_is_none_holds_is_not_told(tmp_path: Path) -> None:
    """Whoever wrote the topology may have named a file of secrets, and others see what is told."""
    (tmp_path / "shadow").write_text("root:$6$salt$hash:20000:0:99999:7:::\n")
    file = tmp_path / "t.yaml"
    file.write_text("version: 1\ninventory: shadow\nrouters: {A: {}}\n")
    with pytest.raises(ConfigError) as error:
        load.from_file(file)
    assert len(error.value.mistakes) == 1
    assert error.value.mistakes[0].startswith(f"{tmp_path / 'shadow'}:1: ungrouped: a name has 1 to 63 ")
    assert "hash" not in error.value.mistakes[0]


def test_more_parts_than_can_be_drawn(tmp_path: Path) -> None:
    """They are refused at once: each of them is compared with all others."""
    routers = ", ".join(f"r{number}: {{}}" for number in range(1_001))
    file = tmp_path / "t.yaml"
    file.write_text(f"version: 1\nrouters: {{{routers}}}\nlinks:\n" + "- {from: r0, to: r1}\n" * 10_001)
    with pytest.raises(ConfigError) as error:
        load.from_file(file)
    assert [(":2: routers: " in mistake, " at most " in mistake) for mistake in error.value.mistakes] == [
        (True, True),
        (False, True),
    ]


def test_a_host_that_the_inventory_has_not(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("[all]\nh1 ansible_host=10.0.0.1\n")
    file = tmp_path / "t.yaml"
    file.write_text("version: 1\ninventory: hosts\nrouters:\n  A: {host: h1}\n")
    assert load.from_file(file).plan.routers["A"].address == "10.0.0.1"
    file.write_text("version: 1\ninventory: hosts\nrouters:\n  A: {host: h2}\n")
    with pytest.raises(ConfigError) as told:
        load.from_file(file)
    assert told.value.mistakes == [f"{file}:4: routers.A.host: no host is called 'h2'; there are: h1"]

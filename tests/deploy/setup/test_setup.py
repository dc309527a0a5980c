"""What `make setup` says and does, on copies of the project in which the programs around it are fakes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from deploy.setup import needs
from deploy.setup.__main__ import check_machine
from deploy.setup.environment import SetupError

_PROJECT = Path(__file__).resolve().parents[3]
# Answers as .venv's Python would, and notes what it was asked; the files hold what it tells of proton.
_VENV_PYTHON = """#!/bin/sh
here={project}
case "$*" in
  *proton.SSL*) cat "$here/tls"; exit ;;
  *importlib.metadata*) cat "$here/proton"; exit ;;
esac
echo "$*" >> "$here/asked"
case "$*" in
  *--no-binary*) cp "$here/tls-rebuilt" "$here/tls" ;;
  *--require-hashes*) echo 0.40.0 > "$here/proton"; exit "$(cat "$here/pip-fails" 2>/dev/null || echo 0)" ;;
esac
"""


class Checkout:
    """A project with the real set-up, and a Python in .venv that is a fake."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "deploy" / "jvm").mkdir(parents=True)
        for name in ("__init__.py", "jvm/__init__.py", "jvm/java.py"):
            shutil.copy(_PROJECT / "deploy" / name, folder / "deploy" / name)
        shutil.copytree(_PROJECT / "deploy" / "setup", folder / "deploy" / "setup")
        (folder / "pyproject.toml").write_text("[project]\n")
        self.write(
            "requirements.lock", "other==1\npython-qpid-proton==0.40.0 \\\n    --hash=sha256:aa\nlast==3\n"
        )
        self.write("tls", "1 1\n")
        self.write("tls-rebuilt", "1 1\n")
        self.write("proton", "0.40.0\n")
        self.venv = folder / ".venv"
        (self.venv / "bin").mkdir(parents=True)
        (self.venv / "pyvenv.cfg").write_text("home = /usr/bin\n")
        _program(self.venv / "bin" / "python", _VENV_PYTHON.format(project=folder))

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def setup(self, *args: str, path: str | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        """Runs the set-up with this Python, with no leave to install Debian packages."""
        keep = {name: os.environ[name] for name in ("HOME", "LANG", "JAVA_HOME") if name in os.environ}
        environ = {"PYTHON": sys.executable, "INFLIGHT_SETUP_APT": "0", **keep, **environ}
        environ["PATH"] = os.environ["PATH"] if path is None else path
        return subprocess.run(
            ["/bin/sh", self.folder / "deploy" / "setup" / "setup.sh", *args],
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )

    def asked(self) -> list[str]:
        """Returns, and forgets, what .venv's Python was asked to do."""
        noted = self.folder / "asked"
        if not noted.exists():
            return []
        lines = noted.read_text().replace(str(self.folder), ".").splitlines()
        noted.unlink()
        return [line for line in lines if not line.startswith("-c ")]


_PIP = "-m pip --disable-pip-version-check install"
_LOCKED = f"{_PIP} --require-hashes -r ./requirements.lock -q"
_OURSELVES = f"{_PIP} -q --no-deps --no-build-isolation -e ."
_JVM = "-m deploy.jvm.artifacts"
_SASL = "Cyrus SASL's headers: without them qpid-proton is built with no PLAIN or SCRAM, and says nothing"
_MECHANISMS = "Cyrus SASL's mechanisms: PLAIN and SCRAM are modules that it loads when somebody logs in"


def _program(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path / "project")


@pytest.fixture
def bare_path(tmp_path: Path) -> Path:
    """A PATH with what a shell script needs and nothing of what the set-up asks for."""
    folder = tmp_path / "bare"
    folder.mkdir()
    for name in ("dirname", "id", "cat"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return folder


def test_nothing_is_done_where_nothing_changed(checkout: Checkout) -> None:
    """The second set-up asks pip for nothing and says nothing; it only looks at the JVM parts."""
    assert checkout.setup().returncode == 0
    assert checkout.asked() == [_LOCKED, _OURSELVES, _JVM]
    again = checkout.setup()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert checkout.asked() == [_JVM]


@pytest.mark.parametrize("name", ["requirements.lock", "pyproject.toml"])
def test_a_change_of_what_is_locked_is_followed(checkout: Checkout, name: str) -> None:
    """The environment is brought in line, without being made anew."""
    checkout.setup()
    checkout.asked()
    with (checkout.folder / name).open("a") as f:
        f.write("# changed\n")
    assert checkout.setup().returncode == 0
    assert checkout.asked() == [_LOCKED, _OURSELVES, _JVM]


def test_a_failed_install_is_told_and_tried_again(checkout: Checkout) -> None:
    """Without a network pip fails: the set-up says what to do, ends with 2, and does not take it for done."""
    checkout.write("pip-fails", "1")
    failed = checkout.setup()
    assert failed.returncode == 2
    assert failed.stderr.splitlines()[-1] == (
        "setup: could not install the packages of requirements.lock (exit 1, see above): is the network "
        "there? Run the same command again, what has come is kept"
    )
    checkout.write("pip-fails", "0")
    checkout.asked()
    assert checkout.setup().returncode == 0
    assert checkout.asked() == [_LOCKED, _OURSELVES, _JVM]


def test_a_proton_without_tls_is_built_anew(checkout: Checkout) -> None:
    """A wheel in pip's cache that was built before the headers came is passed by, not used."""
    checkout.write("tls", "0 1\n")
    done = checkout.setup()
    assert done.returncode == 0
    assert "setup: qpid-proton has no TLS, building it anew" in done.stderr.splitlines()
    rebuild = (
        f"{_PIP} --force-reinstall --no-deps --no-cache-dir --no-binary python-qpid-proton --require-hashes "
        "-r ./.venv/inflight-setup-proton.txt"
    )
    assert checkout.asked() == [_LOCKED, _OURSELVES, rebuild, _JVM]
    block = (checkout.venv / "inflight-setup-proton.txt").read_text()
    assert block == "python-qpid-proton==0.40.0 \\\n    --hash=sha256:aa\n"


def test_a_proton_that_stays_without_sasl_is_an_error(checkout: Checkout) -> None:
    """It is told at the set-up, not found out in production."""
    checkout.write("tls", "1 0\n")
    checkout.write("tls-rebuilt", "1 0\n")
    failed = checkout.setup()
    assert failed.returncode == 2
    assert "setup: qpid-proton was built without SASL, although pkg-config finds openssl" in failed.stderr


def test_an_interrupted_install_is_begun_anew(checkout: Checkout) -> None:
    """Half a package may lie about: the environment is made again, by a real Python."""
    (checkout.venv / "inflight-setup-halfway").touch()
    checkout.write("requirements.lock", "")
    done = checkout.setup()
    assert "setup: making the environment .venv with Python" in done.stderr
    assert (checkout.venv / "bin" / "python").is_symlink()
    assert (checkout.venv / "bin" / "pip").exists()


def test_all_that_is_missing_is_told_at_once(checkout: Checkout, bare_path: Path) -> None:
    """One line for each, with the reason, then one command for each family of systems."""
    told = checkout.setup("--check", path=str(bare_path), JAVA_HOME="", SASL_PATH=str(bare_path))
    assert told.returncode == 2
    assert told.stderr == (
        "setup: this machine lacks:\n"
        "  - Java 17 or newer: Spark, Kafka and Artemis run on it; there is no java on the PATH\n"
        "  - a C compiler: qpid-proton has no Linux wheel and is compiled here\n"
        "  - pkg-config: qpid-proton's build finds its libraries by it\n"
        "  - OpenSSL's headers: without them qpid-proton is built with no TLS, and says nothing\n"
        f"  - {_SASL}\n"
        f"  - {_MECHANISMS}\n"
        "Install, then run the same command again:\n"
        "  Debian, Ubuntu:  apt-get update && apt-get install default-jre-headless gcc libc6-dev pkg-config "
        "libssl-dev libsasl2-dev libsasl2-modules\n"
        "  Fedora:          dnf install java-21-openjdk-headless gcc pkgconf openssl-devel cyrus-sasl-devel "
        "cyrus-sasl-plain cyrus-sasl-scram\n"
    )


def test_only_what_is_missing_is_told(checkout: Checkout, bare_path: Path) -> None:
    """With everything but SASL's headers there, nothing else is asked for."""
    (bare_path / "libscram.so").touch()
    _program(bare_path / "java", "#!/bin/sh\necho 'openjdk version \"17.0.15\"' >&2\n")
    _program(bare_path / "cc", "#!/bin/sh\n")
    _program(bare_path / "pkg-config", '#!/bin/sh\n[ "$*" = "--exists openssl" ]\n')
    told = checkout.setup("--check", path=str(bare_path), JAVA_HOME="", SASL_PATH=str(bare_path))
    assert told.stderr.splitlines() == [
        "setup: this machine lacks:",
        f"  - {_SASL}",
        "Install, then run the same command again:",
        "  Debian, Ubuntu:  apt-get update && apt-get install libsasl2-dev",
        "  Fedora:          dnf install cyrus-sasl-devel",
    ]


def test_an_old_java_is_told_before_anything_is_installed(checkout: Checkout, bare_path: Path) -> None:
    """The version that was found stands in the text; pip has not been asked for anything."""
    _program(bare_path / "java", "#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    told = checkout.setup(path=str(bare_path), JAVA_HOME="")
    assert told.returncode == 2
    assert (
        f"  - Java 17 or newer: Spark, Kafka and Artemis run on it; {bare_path}/java is Java 11\n"
        in told.stderr
    )
    assert checkout.asked() == []


@pytest.fixture
def debian(bare_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Debian on which we are root, with an apt-get that brings pkg-config and nothing else."""
    (bare_path / "debian_version").touch()
    _program(
        bare_path / "apt-get",
        f"""#!/bin/sh
cd {bare_path}
echo "$*" >> apt-asked
case "$*" in *pkg-config*) {shutil.which("cp")} apt-get pkg-config ;; esac
""",
    )
    monkeypatch.setattr(needs, "DEBIAN", bare_path / "debian_version")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("PATH", str(bare_path))
    monkeypatch.delenv("INFLIGHT_SETUP_APT", raising=False)
    return bare_path


def test_on_debian_root_installs_what_is_missing(debian: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """It says so, brings the lists up to date, installs, and looks again."""
    check_machine([need for need in needs.FOR_PROTON if need.debian == "pkg-config"], may_install=True)
    assert (debian / "apt-asked").read_text().splitlines() == [
        "update -q",
        "install -y -q --no-install-recommends pkg-config",
    ]
    assert capfd.readouterr().err.splitlines() == [
        "setup: missing here: pkg-config",
        "setup: this is Debian and you are root: installing pkg-config",
    ]


def test_what_apt_could_not_bring_is_told(debian: Path) -> None:
    """The set-up does not go on to a build that would fail, or would succeed without TLS."""
    with pytest.raises(SetupError, match="a C compiler"):
        check_machine([need for need in needs.FOR_PROTON if "gcc" in need.debian], may_install=True)
    assert (debian / "apt-asked").read_text().splitlines()[-1].endswith("gcc libc6-dev")


def test_nothing_is_installed_for_a_wrong_java_home(debian: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package would not mend it: the variable would still point elsewhere."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(SetupError, match="JAVA_HOME=/nowhere has no bin/java: correct or unset JAVA_HOME"):
        check_machine([needs.JAVA], may_install=True)
    assert not (debian / "apt-asked").exists()


def test_an_old_python_is_named(checkout: Checkout, bare_path: Path) -> None:
    """The Python that was asked for, or that was found, is told with its version."""
    shutil.rmtree(checkout.venv)
    old = bare_path / "python3"
    _program(old, '#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2"\n')
    for environ in ({"PYTHON": str(old)}, {"PYTHON": ""}):
        told = checkout.setup(path=str(bare_path), **environ)
        assert told.returncode == 2
        assert (
            told.stderr.splitlines()[0] == "setup: Inflight needs Python 3.11 or newer; here: Python 3.9.2."
        )


def test_no_python_at_all_is_told(checkout: Checkout, bare_path: Path) -> None:
    """The text names what was looked for, and both ways out."""
    shutil.rmtree(checkout.venv)
    told = checkout.setup(path=str(bare_path), PYTHON="")
    assert told.returncode == 2
    assert told.stderr == (
        "setup: Inflight needs Python 3.11 or newer; here: there is no working python3 on the PATH.\n"
        "  Debian 12, Ubuntu 24.04 or newer: apt-get install python3 python3-venv python3-dev\n"
        "  Fedora: dnf install python3 python3-devel\n"
        "  Installed elsewhere: make setup PYTHON=/path/to/python3\n"
    )


def test_a_newer_python_beside_an_old_one_is_found(checkout: Checkout, bare_path: Path) -> None:
    """python3 may be old where python3.12 is there too."""
    shutil.rmtree(checkout.venv)
    _program(bare_path / "python3", "#!/bin/sh\nexit 1\n")
    _program(bare_path / "python3.12", '#!/bin/sh\n[ "$1" = -c ] || echo "the set-up: $*" >&2\n')
    assert checkout.setup(path=str(bare_path), PYTHON="").stderr == "the set-up: -m deploy.setup\n"


@pytest.mark.parametrize(
    ("variables", "command"),
    [
        ([], ".venv/bin/inflight demo"),
        (["SECONDS=60"], ".venv/bin/inflight demo --seconds 60"),
        (["SECONDS=60", "FAULT=1"], ".venv/bin/inflight demo --seconds 60 --fault"),
        (["FAULT=0"], ".venv/bin/inflight demo"),
    ],
)
def test_make_demo_passes_its_variables_on(variables: list[str], command: str) -> None:
    """What is given to make arrives as options of the command."""
    told = subprocess.run(
        ["make", "-n", "demo", *variables],
        cwd=_PROJECT,
        env={"PATH": os.environ["PATH"]},  # without what a `make test` around this hands down
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.splitlines()[-1].split() == command.split()

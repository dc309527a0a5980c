"""What `make setup` says and does, on copies of the project in which the programs around it are fakes."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from helpers import wait_until

from deploy.setup import needs, progress
from deploy.setup.__main__ import check_machine
from deploy.setup.progress import SetupError

pytestmark = pytest.mark.slow

_PROJECT = Path(__file__).resolve().parents[3]
# Answers as .venv's Python would, by files, and notes what it was asked.
_VENV_PYTHON = """#!/bin/sh
here={project}
temp=$here/.venv/inflight-setup-temp
case "$*" in
  *proton.SSL*) cat "$here/tls"; exit ;;
  *importlib.metadata*) name=${{2#*version(?}}; cat "$here/installed-${{name%%?))}}"; exit ;;
esac
echo "$*" >> "$here/asked"
case "$*" in
  *"download "*)
    [ -e "$here/no-network" ] && while [ ! -s "$here/compiling" ]; do :; done && exit 1
    echo "  Downloading pyspark-4.2.0.tar.gz (450.1 MB)"
    if [ -e "$here/pip-cleans-up" ]; then
      mkdir -p "$XDG_CACHE_HOME/inflight/python" "$here/packed/pyspark-4.2.0"
      echo packed > "$here/packed/pyspark-4.2.0/setup.py"
      tar -C "$here/packed" -czf "$XDG_CACHE_HOME/inflight/python/pyspark-4.2.0.tar.gz" pyspark-4.2.0
    else
      mkdir -p "$TMPDIR/pip-download-1/pyspark_2"
      echo "left by pip" > "$TMPDIR/pip-download-1/pyspark_2/setup.py"
    fi ;;
  *editable_mode*) echo 4.2.0 > "$here/installed-pyspark" ;;
  *"install "*/pip.txt) echo 26.3 > "$here/installed-pip" ;;
  *"wheel "*)
    [ -e "$here/no-network" ] && echo $$ > "$here/compiling" && exec sleep 600
    echo "$CFLAGS" > "$here/flags"
    touch "$temp/python_qpid_proton-0.40.0.whl" ;;
  *--force-reinstall*) cp "$here/tls-rebuilt" "$here/tls" ;;
  *.whl*) echo 0.40.0 > "$here/installed-python-qpid-proton" ;;
  *"install "*/wheels.txt) seq 40; exit "$(cat "$here/pip-fails" 2>/dev/null || echo 0)" ;;
esac
"""


_BUILT = {"pip": "26.3", "pyspark": "4.2.0", "python-qpid-proton": "0.40.0"}
_LOCK = "other==1\n" + "".join(
    f"{name}=={version} \\\n    --hash=sha256:aa\n" for name, version in _BUILT.items()
)


class Checkout:
    """A project with the real set-up, and a Python in .venv that is a fake."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "deploy" / "jvm").mkdir(parents=True)
        for name in ("__init__.py", "jvm/__init__.py", "jvm/java.py"):
            shutil.copy(_PROJECT / "deploy" / name, folder / "deploy" / name)
        shutil.copytree(_PROJECT / "deploy" / "setup", folder / "deploy" / "setup")
        (folder / "pyproject.toml").write_text("[project]\n")
        self.write("deploy/setup/requirements.lock", _LOCK)
        self.write("deploy/setup/requirements-dev.lock", "tool==2\n")
        self.write("tls", "1 1\n")
        self.write("tls-rebuilt", "1 1\n")
        for name, version in _BUILT.items():
            self.write(f"installed-{name}", f"{version}\n")
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
        environ.setdefault("XDG_CACHE_HOME", str(self.folder / "cache"))
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


_PIP = "-m pip --disable-pip-version-check"
_CHECKED = "--no-deps --no-build-isolation --require-hashes"
_LISTS = "./.venv/inflight-setup-temp"
_LOCKED_PIP = f"{_PIP} install {_CHECKED} -r {_LISTS}/pip.txt"
_LOCKED = f"{_PIP} install --no-compile {_CHECKED} -r {_LISTS}/wheels.txt"
_PROTON = f"{_PIP} wheel {_CHECKED} -r {_LISTS}/proton.txt -w {_LISTS}"
_SPARK = (
    f"{_PIP} download --no-cache-dir --no-clean --no-binary pyspark {_CHECKED} "
    f"-r {_LISTS}/spark.txt -d ./cache/inflight/python"
)
_LINKS = (
    f"{_PIP} install --no-deps --no-build-isolation --no-compile --config-settings editable_mode=strict "
    "-e ./.venv/src/pyspark-4.2.0"
)
_OURSELVES = f"{_PIP} install --no-deps --no-build-isolation --no-compile -e ."
_BUILT_TOO = (
    f"{_PIP} install --no-deps --no-build-isolation --no-compile {_LISTS}/python_qpid_proton-0.40.0.whl -e ."
)
_LOADED = "-m deploy.setup.load_all"
_TOOLS = f"{_PIP} install {_CHECKED} -r ./deploy/setup/requirements-dev.lock"
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
    assert checkout.asked() == [_LOCKED, _OURSELVES, _LOADED, _JVM]
    again = checkout.setup()
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert checkout.asked() == [_JVM]


@pytest.mark.parametrize("name", ["deploy/setup/requirements.lock", "pyproject.toml"])
def test_a_change_of_what_is_locked_is_followed(checkout: Checkout, name: str) -> None:
    """The environment is brought in line, without being made anew."""
    checkout.setup()
    checkout.asked()
    with (checkout.folder / name).open("a") as f:
        f.write("# changed\n")
    assert checkout.setup().returncode == 0
    assert checkout.asked() == [_LOCKED, _OURSELVES, _LOADED, _JVM]


def test_what_is_built_is_built_side_by_side(checkout: Checkout) -> None:
    """With the locked pip: PySpark without packing it, qpid-proton without debug symbols."""
    for name in _BUILT:
        checkout.write(f"installed-{name}", "0.1\n")
    done = checkout.setup()
    assert done.returncode == 0
    asked = checkout.asked()
    assert asked[:2] == [_LOCKED_PIP, _LOCKED]
    assert sorted(asked[2:5]) == sorted([_PROTON, _SPARK, _LINKS])
    assert asked[5:] == [_BUILT_TOO, _LOADED, _JVM]
    source = checkout.venv / "src" / "pyspark-4.2.0"
    assert (source / "setup.py").read_text() == "left by pip\n"
    assert (checkout.folder / "flags").read_text().split()[-2:] == ["-O2", "-g0"]
    assert not (checkout.venv / "inflight-setup-temp").exists()


def test_nothing_goes_on_where_one_of_both_fails(checkout: Checkout) -> None:
    """Where PySpark does not come, the compiler is ended, too, and the next call goes on from there."""
    checkout.write("installed-pyspark", "0.1\n")
    checkout.write("installed-python-qpid-proton", "0.1\n")
    checkout.write("no-network", "")
    failed = checkout.setup()
    assert failed.returncode == 2
    assert failed.stderr.splitlines()[-1].startswith("setup: could not fetch PySpark (exit 1, see above)")
    with pytest.raises(ProcessLookupError):
        os.kill(int((checkout.folder / "compiling").read_text()), 0)
    (checkout.folder / "no-network").unlink()
    assert checkout.setup().returncode == 0


def test_a_step_is_one_line(checkout: Checkout) -> None:
    """What was done, for how long, and what it took from the network; pip's own pages are not shown."""
    checkout.write("installed-pyspark", "0.1\n")
    told = re.sub(r"\d+(\.\d)? s\b", "N s", checkout.setup().stderr)
    assert told.splitlines() == [
        "setup: bringing .venv in line with requirements.lock and pyproject.toml",
        "setup: 1 packages are installed, N s",
        "setup: fetched PySpark and unpacked it, N s, 450.1 MB fetched",
        "setup: compiled the modules that Inflight loads, N s",
        "setup: done in N s; the command is .venv/bin/inflight",
    ]


def test_pyspark_is_unpacked_where_pip_leaves_nothing(checkout: Checkout) -> None:
    """Where a pip puts what it unpacks is its own affair; the file that it fetched is there in any case."""
    checkout.write("installed-pyspark", "0.1\n")
    checkout.write("pip-cleans-up", "")
    assert checkout.setup().returncode == 0
    assert (checkout.venv / "src" / "pyspark-4.2.0" / "setup.py").read_text() == "packed\n"


def test_tools_for_tests_come_on_top(checkout: Checkout) -> None:
    """Only who tests asks for them; then the rest is not looked at again."""
    checkout.setup()
    assert _TOOLS not in checkout.asked()
    assert checkout.setup("--dev").returncode == 0
    assert checkout.asked() == [_TOOLS, _JVM]
    again = checkout.setup("--dev")
    assert (again.returncode, again.stderr) == (0, "")
    assert checkout.setup().stderr == ""
    assert checkout.asked() == [_JVM, _JVM]


def test_a_failed_install_is_told_and_tried_again(checkout: Checkout) -> None:
    """Without a network pip fails: the set-up says what to do, ends with 2, and does not take it for done."""
    checkout.write("pip-fails", "1")
    failed = checkout.setup()
    assert failed.returncode == 2
    assert failed.stderr.splitlines()[1:-1] == [str(n) for n in range(11, 41)]  # the last that pip said
    assert failed.stderr.splitlines()[-1] == (
        "setup: could not install the packages of requirements.lock (exit 1, see above): is the network "
        "there? Run the same command again, what has come is kept"
    )
    checkout.write("pip-fails", "0")
    checkout.asked()
    assert checkout.setup().returncode == 0
    assert checkout.asked() == [_LOCKED, _OURSELVES, _LOADED, _JVM]


def test_a_proton_without_tls_is_built_anew(checkout: Checkout) -> None:
    """A wheel in pip's cache that was built before the headers came is passed by, not used."""
    checkout.write("tls", "0 1\n")
    done = checkout.setup()
    assert done.returncode == 0
    assert "setup: qpid-proton has no TLS, building it anew" in done.stderr.splitlines()
    rebuild = (
        f"{_PIP} install --no-cache-dir --force-reinstall --no-binary python-qpid-proton {_CHECKED} "
        f"-r {_LISTS}/proton.txt"
    )
    assert checkout.asked() == [_LOCKED, _OURSELVES, rebuild, _LOADED, _JVM]


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
    checkout.write("deploy/setup/requirements.lock", "")
    done = checkout.setup()
    assert "setup: making the environment .venv with Python" in done.stderr
    assert (checkout.venv / "bin" / "python").is_symlink()
    assert (checkout.venv / "bin" / "pip").exists()


def test_interrupted_tools_are_begun_anew(checkout: Checkout) -> None:
    """They share .venv with the rest, which is no longer what its stamp says; then they are brought again."""
    checkout.setup("--dev")
    (checkout.venv / "inflight-setup-halfway").touch()
    checkout.write("deploy/setup/requirements.lock", "")
    done = checkout.setup("--dev")
    assert "setup: making the environment .venv with Python" in done.stderr
    assert not (checkout.venv / "inflight-setup-dev").exists()


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


def test_a_step_that_takes_long_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every so often, by what has come so far."""
    told: list[str] = []
    monkeypatch.setattr(progress, "NEWS_SECONDS", 0.01)
    monkeypatch.setattr(progress, "say", told.append)
    growing = tmp_path / "growing"
    growing.mkdir()
    (growing / "half").write_bytes(bytes(3_000_000))
    go_on = tmp_path / "go-on"
    os.mkfifo(go_on)
    with progress.Step("fetch it", ["cat", str(go_on)], tmp_path) as step:
        thread = threading.Thread(target=step.finish, args=("fetched it", growing))
        thread.start()
        wait_until(lambda: told, 60, "a line")
        go_on.write_text("")
        thread.join()
    assert re.sub(r"\d+ s", "N s", told[0]) == "  fetch it: N s, 3 MB so far"


def test_a_step_that_is_left_is_ended(tmp_path: Path) -> None:
    """Where fetching PySpark fails, nobody goes on to compile qpid-proton."""
    step = progress.Step("wait", ["sleep", "600"], tmp_path)
    with pytest.raises(KeyboardInterrupt), step:
        raise KeyboardInterrupt
    assert step.status == -signal.SIGTERM


@pytest.mark.parametrize(
    ("variables", "command"),
    [
        ([], ".venv/bin/inflight demo"),
        (["SECONDS=60"], ".venv/bin/inflight demo --seconds 60"),
        (["SECONDS=60", "FAULT=1"], ".venv/bin/inflight demo --seconds 60 --fault"),
        (["FAULT=0"], ".venv/bin/inflight demo"),
        (["FAULT=flood"], ".venv/bin/inflight demo --fault flood"),
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


@pytest.mark.parametrize(
    ("target", "options"),
    [("demo", ""), ("lock", ""), ("test", "--dev"), ("unit", "--dev"), ("lint", "--dev"), ("bench", "--dev")],
)
def test_only_who_tests_waits_for_the_tools(target: str, options: str) -> None:
    """The demonstration starts without linters, type checkers and test runners."""
    told = subprocess.run(
        ["make", "-n", target],
        cwd=_PROJECT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )
    (line,) = [line for line in told.stdout.splitlines() if "setup.sh" in line]
    assert line.partition("setup.sh")[2].strip() == options

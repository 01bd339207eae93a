"""A fresh Debian in a folder, from the mirror that this machine's apt uses, entered by chroot in
namespaces of its own, so that nothing of it is left when a command has ended. Root only."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.packaging.wheel import ROOT

USER = "ada"
HOME = f"/home/{USER}"
CHECKOUT = f"{HOME}/plumbline"
# What README asks for is a C compiler, make and Python; setup installs what of these is missing.
ASKED = ("ca-certificates", "make", "python3")
NETWORK = ("/etc/resolv.conf", "/etc/hosts")
HANDED_ON = re.compile(r"(?i)(https?_proxy|no_proxy|pip_\w+|ssl_cert_\w+)")
MANAGERS = ("apt*", "dpkg*")
ENTER = """
set -e
root=$1 user=$2; shift 2
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/dev/shm"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
for path in $SEEN; do
    if [ -d "$path" ]; then mkdir -p "$root$path"; else
        mkdir -p "$root${path%/*}"; [ -e "$root$path" ] || : >"$root$path"
    fi
    mount --bind "$path" "$root$path"
done
unset SEEN
exec chroot --userspec="$user" "$root" "$@"
"""


class NotHere(Exception):
    """There can be no fresh Debian on this machine, and why."""


def _sources(release: str) -> list[Path]:
    """The files of apt that name this release."""
    apt = Path("/etc/apt")
    files = [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.[ls]*"))]
    files = [path for path in files if path.suffix in (".list", ".sources") and path.is_file()]
    named = re.compile(rf"(?m)^[^#\n]*\s{release}(\s|$)")
    return [path for path in files if named.search(path.read_text())]


def _release() -> str:
    told = Path("/etc/os-release").read_text() if Path("/etc/os-release").is_file() else ""
    name = re.search(r"(?m)^VERSION_CODENAME=(\w+)$", told)
    if name is None or not re.search(r"(?m)^ID=debian$", told):
        raise NotHere("this is no Debian, so that no mirror of it is known")
    return name[1]


def _settings_of_pip() -> dict[str, str]:
    """Where this machine's pip looks, as variables."""
    words = [sys.executable, "-m", "pip", "config", "list"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    keys = re.findall(r"(?m)^(?:global|install)\.([\w-]+)='(.*)'$", told)
    return {f"PIP_{key.upper().replace('-', '_')}": value for key, value in keys}


class Debian:
    def __init__(self, folder: Path) -> None:
        self.root = folder
        handed = {name: text for name, text in os.environ.items() if HANDED_ON.fullmatch(name)}
        self._network = _settings_of_pip() | handed

    @classmethod
    def fresh(cls, folder: Path) -> Debian:
        """As its installer leaves it, with what README asks for, and a user."""
        if os.geteuid() != 0:
            raise NotHere("only root can make and enter it")
        for program in ("mmdebstrap", "unshare"):
            if shutil.which(program) is None:
                raise NotHere(f"there is no {program}")
        release = _release()
        words = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={','.join(ASKED)}"]
        subprocess.run([*words, release, folder, *_sources(release)], check=True, timeout=900)
        made = cls(folder)
        made.run("useradd", "--create-home", "--shell", "/bin/bash", USER, check=True)
        return made

    def copy(self, folder: Path) -> Debian:
        subprocess.run(["cp", "-a", "--reflink=auto", self.root, folder], check=True, timeout=200)
        return Debian(folder)

    def run(
        self, *words: str, user: str = "root", check: bool = False, timeout: float = 280
    ) -> subprocess.CompletedProcess[str]:
        home = HOME if user == USER else "/root"
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": home}
        environment |= self._network | {"SEEN": " ".join(self._seen()), "LANG": "C.UTF-8"}
        start = ["unshare", "--mount", "--propagation=private", "--pid", "--fork", "--kill-child"]
        start += ["sh", "-c", ENTER, "sh", str(self.root), f"{user}:{user}", *words]
        done = subprocess.run(
            start, env=environment, capture_output=True, text=True, timeout=timeout
        )
        assert not check or done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"
        return done

    def _seen(self) -> Iterator[str]:
        """Paths of this machine that are also there."""
        certificates = (text for name, text in self._network.items() if "CERT" in name.upper())
        links = self._network.get("PIP_FIND_LINKS", "").split()
        for path in dict.fromkeys((*NETWORK, *certificates, *links)):
            if os.path.isabs(path) and os.path.exists(path) and not os.path.ismount(path):
                yield path

    def checks_out(self) -> None:
        """This tree, without what git ignores, in the user's home."""
        words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        names = subprocess.run(words, cwd=ROOT, capture_output=True, check=True).stdout
        target = Path(f"{self.root}{CHECKOUT}")
        target.mkdir()
        packed = ["tar", "--create", "--null", "--files-from=-"]
        tar = subprocess.run(packed, cwd=ROOT, input=names, capture_output=True, check=True)
        subprocess.run(["tar", "--extract", "--directory", target], input=tar.stdout, check=True)
        self.gives_to_user()

    def gives_to_user(self) -> None:
        self.run("chown", "--recursive", f"{USER}:{USER}", HOME, check=True)

    def makes(self, *words: str, user: str = "root") -> str:
        """`make words…` in the checkout."""
        done = self.run("make", "-C", CHECKOUT, *words, user=user, timeout=1200)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def loses_package_managers(self) -> None:
        for pattern in MANAGERS:
            for place in ("usr/bin", "usr/sbin", "usr/lib", "var/lib"):
                for path in (self.root / place).glob(pattern):
                    _remove(path)

    def clears(self, names: Sequence[str]) -> None:
        for name in names:
            _remove(Path(f"{self.root}{HOME}/{name}"))


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)

"""`python -m flows.install_browser`: find a browser or get one; part of set-up.

Here: Playwright's own headless shell where it can be downloaded, else the system's package (Debian, as root), else one
sentence that says what to do. Not here: which browser a scan takes (`tasks/scan/browser.py`).
"""

import os
import shutil
import subprocess
import sys

from schemas.errors import ContractError
from schemas.exit_code import ExitCode
from tasks.scan.browser import BrowserBuild, find_browser

DOWNLOAD_SECONDS = 600
PACKAGE = "chromium-headless-shell"


def main() -> int:
    """Leave the machine with a browser, or say in one sentence why that can't be."""
    build = _find()
    for get in (_download_playwrights, _install_package):
        if build is None and get():
            build = _find()
    if build is None:
        print(f"No browser: Playwright's could not be downloaded and there is no package {PACKAGE} to install here; "
              f"run `playwright install --only-shell chromium` where the network allows it, or install Chromium and "
              f"set FANFOLD_BROWSER to its path.", file=sys.stderr)
        return ExitCode.BAD_INPUT
    print(f"Browser: {build.kind} {build.version}")
    return ExitCode.PASSED


def _find() -> BrowserBuild | None:
    try:
        return find_browser(os.environ.get("FANFOLD_BROWSER"))
    except ContractError:
        return None


def _download_playwrights() -> bool:
    print("Downloading Playwright's headless shell …", flush=True)
    command = [sys.executable, "-m", "playwright", "install", "--only-shell", "chromium"]
    return _run(command)


def _install_package() -> bool:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    print(f"Not to be had; installing the system's {PACKAGE} …", flush=True)
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    return _run(["apt-get", "update", "-qq"]) and _run(["apt-get", "install", "-y", "-qq", PACKAGE], quiet)


def _run(command: list[str], environment: dict[str, str] | None = None) -> bool:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=os.environ | (environment or {}), timeout=DOWNLOAD_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())

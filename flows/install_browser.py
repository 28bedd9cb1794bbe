"""`python -m flows.install_browser`: find a browser or get one; part of set-up. With `--full` the full browser as well.

Here: Playwright's own build where it can be downloaded, else the system's package (Debian, as root), else one sentence
that says what to do. Not here: which browser a scan takes (`tasks/scan/browser.py`).
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable

from schemas.errors import ContractError
from schemas.exit_code import ExitCode
from tasks.scan.browser import BrowserBuild, find_browser, find_full_browser

DOWNLOAD_SECONDS = 600


def main(arguments: list[str]) -> int:
    """Leave the machine with a browser, or say in one sentence why that can't be."""
    if "--full" in arguments:
        build = _found_or_got(find_full_browser, "--no-shell", "chromium")
        print(f"Full browser: {build.version}" if build else "No full browser is to be had; its tests will be skipped.")
        return ExitCode.PASSED
    build = _found_or_got(_find, "--only-shell", "chromium-headless-shell")
    if build is None:
        print("No browser: Playwright's could not be downloaded and there is no package chromium-headless-shell to "
              "install here; run `playwright install --only-shell chromium` where the network allows it, or install "
              "Chromium and set FANFOLD_BROWSER to its path.", file=sys.stderr)
        return ExitCode.BAD_INPUT
    print(f"Browser: {build.kind} {build.version}")
    return ExitCode.PASSED


def _found_or_got(find: Callable[[], BrowserBuild | None], playwrights: str, package: str) -> BrowserBuild | None:
    return (find() or (_download_playwrights(playwrights) and find()) or (_install_package(package) and find())) or None


def _find() -> BrowserBuild | None:
    try:
        return find_browser(os.environ.get("FANFOLD_BROWSER"))
    except ContractError:
        return None


def _download_playwrights(which: str) -> bool:
    print("Downloading Playwright's browser …", flush=True)
    return _run([sys.executable, "-m", "playwright", "install", which, "chromium"])


def _install_package(package: str) -> bool:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        return False
    print(f"Not to be had; installing the system's {package} …", flush=True)
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    return _run(["apt-get", "update", "-qq"]) and _run(["apt-get", "install", "-y", "-qq", package], quiet)


def _run(command: list[str], environment: dict[str, str] | None = None) -> bool:
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              env=os.environ | (environment or {}), timeout=DOWNLOAD_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

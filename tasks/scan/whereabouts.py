"""Where browsers lie on a machine, in the order in which they are tried.

Here: paths only. Not here: trying them (`browser.py`).
"""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

SYSTEM_NAMES = ("chromium-headless-shell", "chrome-headless-shell", "chromium", "chromium-browser")
OWN_FILES = (  # in Playwright's folder: half the processor time for the headless shell, the same findings
    ("chromium_headless_shell-*", ("headless_shell", "chrome-headless-shell")),
    ("chromium-*", ("chrome", "Chromium")),
)


def browser_candidates() -> Iterator[str]:
    """Yield paths of browsers: Playwright's own before the system's, headless shells before full browsers."""
    folder = playwright_folder()
    for pattern, names in OWN_FILES:
        for build in sorted(folder.glob(pattern), reverse=True):
            yield from (str(file) for name in names for file in sorted(build.rglob(name)) if os.access(file, os.X_OK)
                        and file.is_file())
    for name in SYSTEM_NAMES:
        found = shutil.which(name)
        if found:
            yield found


def playwright_folder() -> Path:
    """Return the folder in which Playwright keeps the browsers that it installs."""
    given = os.environ.get("PLAYWRIGHT_BROWSERS_PATH")
    if given and given != "0":
        return Path(given)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "ms-playwright"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ms-playwright"

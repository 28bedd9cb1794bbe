"""Load: what the user has, read and held against its schema.

Here: the doors of the stage. Not here: identity of routes, judgement of addresses (`tasks/normalize.py`).
Next: `tasks/normalize.py` for a manifest, `tasks/learn.py` for timings, `tasks/gate/` for policy files.
"""

from tasks.load.layers import setting_keys, setting_value, variable_of
from tasks.load.manifest import load_manifest
from tasks.load.settings import environment_warnings, in_force_of_source, load_settings
from tasks.load.timings import LoadedTimings, load_timings
from tasks.load.yaml_file import load_document, load_yaml

__all__ = [
    "LoadedTimings", "environment_warnings", "in_force_of_source", "load_document", "load_manifest", "load_settings",
    "load_timings", "load_yaml", "setting_keys", "setting_value", "variable_of",
]

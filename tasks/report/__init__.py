"""Render a run for people and for other programs: HTML, JUnit, SARIF, CSV, Markdown.

Here: pure functions from a run's records to files as bytes. `page` makes the HTML, `junit`, `sarif`, `csv_table` and
`markdown` the other formats; `facts` has what they all count. Not here: judging, files, clocks, Prefect. A report is
rendered before the verdict is raised, also for blocked, incomplete and interrupted runs. Next: `tasks/publish.py`.
"""

from collections.abc import Mapping

from schemas.report_material import ReportMaterial
from tasks.report.csv_table import csv_files
from tasks.report.junit import junit_xml
from tasks.report.markdown import summary_md
from tasks.report.page import html_files
from tasks.report.sarif import sarif_json

__all__ = ["render_report"]


def render_report(material: ReportMaterial, *, is_single: bool = False) -> Mapping[str, bytes]:
    """Render every format of a run's report.

    Args:
        material: the run's records.
        is_single: one HTML page instead of a folder of them: for small runs.

    Returns:
        Files by name, relative to the report's folder. Names are fixed words and numbers, never of a page or route.
    """
    return {
        **html_files(material, is_single=is_single), **csv_files(material),
        "junit.xml": junit_xml(material), "results.sarif": sarif_json(material), "summary.md": summary_md(material),
    }

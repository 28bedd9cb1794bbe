"""Commands beside the audit itself, by what they are about; `cli.py` registers them. Nothing is imported here.

    gate            gate, baseline update | diff | prune, suppressions
    stored_runs     report, runs, show, export, prune
    installation    settings, doctor
    kept_server     up, down
    automations     automations install
"""

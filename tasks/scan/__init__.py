"""Scan one shard in a process of its own: the only stage with a browser.

    __main__    `python -m tasks.scan`: wiring, refusal, exit codes         watch     the parent's side
    worker      lanes, in-flight file, budget, stop                         reap      ending a process tree
    ledger      what earlier attempts left            work     what is open  partial   the attempt's triples
    browser     the life of browser and driver        visit    one route, retries included
    call        one try on one page                   settle   waiting for rest
    frames      the engine in every frame             judge    which outcome, by the table in `reasons`
    records     what is stored, redacted              process  which there are, and their end

Next: `tasks.collect` reads the receipts.
"""

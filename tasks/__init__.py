"""Verbs: one stage of the journey each, in this order.

    stage      module             in → out                                                          kind
    load       tasks.load         manifest, policy, settings, history → validated records           effect
    normalize  tasks.normalize    raw addresses → routes, one for each identity and profile         pure
    plan       tasks.plan         routes × history × shard count → a frozen plan                    pure
    scan       tasks.scan         one shard → a partial: outcomes, occurrences, rule results        effect
    collect    tasks.collect      plan + receipts → verified evidence; broken pieces by name        effect
    converge   tasks.converge     many rows per route → one outcome, findings, dead letters         pure
    learn      tasks.learn        this run's durations × history → percentiles                      pure
    gate       tasks.gate         plan × outcomes × findings × baseline × policy → one verdict      pure
    report     tasks.report       the run's records → pages and formats that people read            pure
    publish    tasks.publish      evidence first, then the verdict                                  effect

Beside the stages, what effects share: `tasks.store` opens files, `tasks.freeze` keeps a plan, `tasks.commit` keeps
triples and receipts.
"""

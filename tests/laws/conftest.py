"""How laws are tried: no time limit for one example (the machine is shared), and few enough examples to stay quick."""

from hypothesis import settings

settings.register_profile("fanfold", deadline=None, max_examples=60)
settings.load_profile("fanfold")

"""Verbs: one stage of the journey each."""

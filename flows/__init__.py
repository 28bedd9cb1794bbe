"""Sentences: the flow, the command line, and what surrounds them. Nothing is imported here: each part starts fast."""

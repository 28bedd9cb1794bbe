"""Sentences: the flow, the command line, and what surrounds them. Nothing is imported here, so that each starts fast."""

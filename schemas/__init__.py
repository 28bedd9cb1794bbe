"""Nouns: the records that travel between stages, and the JSON Schema of every shape that crosses a file."""

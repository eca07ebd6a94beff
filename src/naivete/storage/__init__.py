"""Bytes on disk: files that are whole or absent, canonical JSON, archives of plain data, and checkpoints of long runs."""

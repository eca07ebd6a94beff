"""Files: atomic writes, canonical JSON, ZIP archives of plain values, and checkpoints of long runs."""

"""naivete against its peers: `python -m benchmarks`; README.md beside this file tells how to read what it prints."""

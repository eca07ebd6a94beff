"""The demonstration: models compared on data that comes with the library, and its page."""

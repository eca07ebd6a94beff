"""Tables of values before any schema: columns, data frames, class labels, generated domains, and files of tables."""

"""From values to codes: value counts of the columns give the schema, and the schema gives every value its code."""

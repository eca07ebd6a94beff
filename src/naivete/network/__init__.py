"""The model: an immutable Bayesian network with tables, densities and derived columns, its estimation and its file formats."""

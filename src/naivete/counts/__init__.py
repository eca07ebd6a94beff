"""Sums over the cases: tables of families and pairs, moments, and the information, scores and tests computed from them."""

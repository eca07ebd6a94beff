"""Naive Bayes on joined attributes: FSSJ and BSEJ."""

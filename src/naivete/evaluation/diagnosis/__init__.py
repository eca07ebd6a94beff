"""Diagnosis of naive Bayes: its errors, and the dependences between features that correct them."""

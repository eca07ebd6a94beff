"""Inference in a network: posteriors of the class, queries, sampling, leave-one-out and expectation-maximization."""

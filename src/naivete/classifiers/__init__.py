"""The scikit-learn estimators: one class for each learner, incremental learning, saving, and cost-sensitive decisions."""

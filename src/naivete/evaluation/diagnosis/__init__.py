"""Where naive Bayes errs and which dependence repairs it."""

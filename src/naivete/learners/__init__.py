"""Learners: functions from `Counts` to `Network`, one paper a module.

Import each from its module, as in ``from naivete.learners.kdb import kdb``.
"""

"""Drawings of networks and trees, charts, rules, tables and HTML pages."""

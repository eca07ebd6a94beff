"""Networks, trees and results for people: drawings, charts, rules, tables and HTML pages."""

"""Fault injection: real servers and processes, a seeded schedule of faults, a log of every call, and a checker."""

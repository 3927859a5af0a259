"""Faults on purpose: real servers and processes, a seeded schedule of faults, a record of every call, and a checker."""

"""Benchmarks: the hanging sheet in our engine and in others, each in a process of its own, in turns."""

"""Rows that break, tear and yield."""

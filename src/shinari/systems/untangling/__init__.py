"""Pulls apart sheets and closed surfaces that intersect."""

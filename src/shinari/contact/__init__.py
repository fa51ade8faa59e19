"""Contact with solids."""

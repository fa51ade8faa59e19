"""Contacts with colliders: shapes and distances, what is near them, the rows."""

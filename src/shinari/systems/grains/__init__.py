"""Contacts of grains, which keep their impulses from substep to substep."""

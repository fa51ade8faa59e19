"""Contacts of particles as balls."""

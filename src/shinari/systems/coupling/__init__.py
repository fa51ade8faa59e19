"""Rigid bodies and particles: contacts and attachments in which each pushes the other."""

"""Rigid bodies: their motion, joints and contacts, solved together for each substep."""

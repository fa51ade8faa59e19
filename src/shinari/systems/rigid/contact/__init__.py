"""Contacts of bodies with bodies and colliders: pairs, manifolds and points."""

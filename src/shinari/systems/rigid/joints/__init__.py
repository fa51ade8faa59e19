"""Joints between bodies: what each kind holds, limits and drives."""

"""What users call: scenes, simulations, handles and queries."""

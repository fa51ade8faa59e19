"""What may be done to a simulation while it runs: hold things, pin them, change its settings and materials."""

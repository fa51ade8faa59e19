"""Actions on a simulation that runs: grab objects, pin them, change settings and materials."""

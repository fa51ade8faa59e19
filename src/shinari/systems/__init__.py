"""Everything that moves particles and bodies, one folder each."""

"""The ledger behind `shinari verify`: measurements of the engine against closed forms, papers and experiments."""

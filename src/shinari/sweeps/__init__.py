"""Sweeps: many runs of one scene with other parameters, and a table of what they gave.

| file | |
|---|---|
| `ranges`, `samples`, `paths` | values of a parameter, members drawn from them, and where they stand in a scene file |
| `functions` | functions of the user by name, for processes anywhere |
| `plan`, `journal` | the members of a study with a hash for each, and what is known of them, on disk |
| `define` | the plan of what a user asks for, refused before anything is computed |
| `member`, `measures` | one member: build, run, measure |
| `helper`, `worker` | the process that does so, and the side that asks it |
| `pools`, `cluster` | where members run: threads that ask helpers, Dask, anything with `submit` |
| `run`, `progress` | the fan-out |
| `study`, `table`, `plot` | reading a study |
"""

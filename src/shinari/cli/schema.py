"""`shinari schema`: the JSON schema of scene files."""

import json


def schema() -> None:
    """Print the JSON schema of scene files, for editors that complete and check TOML, and for other programs."""
    from shinari.io.json_schema import json_schema

    print(json.dumps(json_schema(), indent=2))

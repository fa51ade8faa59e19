"""Small vector mathematics on tuples, compiled with Numba and free of any one target."""

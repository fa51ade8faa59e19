"""Points in and on shapes."""

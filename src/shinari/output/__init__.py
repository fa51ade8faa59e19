"""Writers by extension of the file, and the recorder."""

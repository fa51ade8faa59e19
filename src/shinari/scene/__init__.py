"""Plain records of what a user gave: objects, materials, handles.

`contents.Contents` holds the records; the class `Scene` that users call is derived from it in `shinari.api.scene`.
"""

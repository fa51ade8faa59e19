"""The extension for Blender 4.2 and newer: `shinari blender` puts this folder into a zip that is dropped on Blender.

    scene_folder   a scene file and its meshes from plain arrays           without bpy
    baking         shinari in a process of its own                         without bpy
    import_run     a run that is in a file, as new objects
    objects        objects of Blender to plain arrays, and the result back onto them
    panel          roles and materials, the panel, bake and cancel

Blender runs it with a Python of its own that need not have shinari, so nothing here imports the rest of the package.
"""


def register() -> None:
    """Called by Blender when the extension is switched on."""
    from . import import_run, panel

    import_run.register()
    panel.register()


def unregister() -> None:
    """Called by Blender when the extension is switched off."""
    from . import import_run, panel

    panel.unregister()
    import_run.unregister()

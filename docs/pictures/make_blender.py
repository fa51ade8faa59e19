"""The picture of the page on Blender: `blender --background --python make_blender.py -- run.npz picture.jpg`.

The run: `shinari run src/shinari/scenes/kerchief.toml --duration 1 -o run.npz`.
"""

import sys
from pathlib import Path

import bpy
import mathutils

sys.path.append(str(Path(__file__).parents[2] / "src" / "shinari" / "blender"))
import import_run

RUN, PICTURE = (Path(word).resolve() for word in sys.argv[sys.argv.index("--") + 1 :])
bpy.ops.wm.read_factory_settings(use_empty=True)
import_run.import_run(RUN)
scene = bpy.context.scene
scene.frame_set(26)

camera = bpy.data.objects.new("camera", bpy.data.cameras.new("camera"))
camera.location = (1.5, -1.7, 1.25)
camera.rotation_euler = (mathutils.Vector((0.0, 0.0, 0.62)) - camera.location).to_track_quat("-Z", "Y").to_euler()
sun = bpy.data.objects.new("sun", bpy.data.lights.new("sun", "SUN"))
sun.data.energy, sun.data.angle, sun.rotation_euler = 3.0, 0.05, (0.7, 0.25, 0.3)
for thing in (camera, sun):
    scene.collection.objects.link(thing)
scene.camera = camera
scene.world = bpy.data.worlds.new("sky")
scene.render.engine, scene.cycles.samples, scene.view_settings.view_transform = "CYCLES", 64, "Standard"
scene.render.resolution_x, scene.render.resolution_y = 800, 500
scene.render.image_settings.file_format, scene.render.image_settings.quality = "JPEG", 85
scene.render.filepath = str(PICTURE)
bpy.ops.render.render(write_still=True)

"""The tasks of the package, each in a file of its own."""

from shinari.gym.tasks.flexible_pole import FlexiblePole
from shinari.gym.tasks.fold_cloth import FoldCloth
from shinari.gym.tasks.lift_ball import LiftBall
from shinari.gym.tasks.pour_water import PourWater
from shinari.gym.tasks.push_sand import PushSand
from shinari.gym.tasks.reach_rope import ReachRope
from shinari.gym.tasks.spread_cloth import SpreadCloth

TASKS = FlexiblePole, ReachRope, FoldCloth, SpreadCloth, PourWater, PushSand, LiftBall
"""All tasks; each is registered as `shinari/NAME-v0`."""

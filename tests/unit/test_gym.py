"""Environments of Gymnasium: the protocol, and that a policy that knows how does each task, and chance does not."""

import warnings
from typing import ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

import shinari as sn
from browser_help import until
from shinari.gym import TASKS, Environment, Task, VectorEnvironment, register
from shinari.gym.tasks.flexible_pole import FlexiblePole
from shinari.gym.tasks.reach_rope import ReachRope

NAMES = [task.__name__ for task in TASKS]
WORLDS = 4


def played(task_class: type[Task], policy, count: int = WORLDS, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Success and return of an episode in each world."""
    environment = VectorEnvironment(task_class, count, autoreset_mode=AutoresetMode.DISABLED)
    environment.reset(seed=seed)
    episodes, task = environment._episodes, environment.task
    alive, success, total = np.ones(count, bool), np.zeros(count, bool), np.zeros(count)
    while alive.any():
        outcome = episodes.act(policy(task), alive)
        success |= outcome.success
        total += outcome.rewards
        alive &= ~(outcome.terminated | outcome.truncated)
    assert not task.worlds.diverged.any()
    return success, total


@pytest.mark.parametrize("task", TASKS, ids=NAMES)
def test_a_scripted_policy_does_the_task_and_chance_does_not(task):
    random = np.random.default_rng(1)
    success, scripted = played(task, lambda task: task.script())
    assert success.all()
    success, by_chance = played(task, lambda task: random.uniform(-1, 1, (WORLDS, task.actions)))
    assert success.mean() <= 0.25
    assert scripted.mean() > by_chance.mean()


@pytest.mark.parametrize("name", NAMES)
def test_the_checker_of_gymnasium_is_content(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        environment = gymnasium.make(f"shinari/{name}-v0")
        check_env(environment.unwrapped, skip_render_check=True)
    assert environment.observation_space.shape == (environment.unwrapped.task.observations,)
    environment.close()


def test_a_world_of_a_vector_environment_is_an_environment_of_its_seed():
    many = gymnasium.make_vec("shinari/ReachRope-v0", num_envs=3, vectorization_mode="vector_entry_point")
    seen, _ = many.reset(seed=10)
    random = np.random.default_rng(0)
    actions = random.uniform(-1, 1, (12, 3, 3)).astype(np.float32)
    followed = [many.step(each) for each in actions]
    for k in range(3):
        one = gymnasium.make("shinari/ReachRope-v0")
        first, _ = one.reset(seed=10 + k)
        np.testing.assert_array_equal(first, seen[k])
        for step, each in zip(followed, actions, strict=True):
            observation, reward, terminated, truncated, _ = one.step(each[k])
            np.testing.assert_array_equal(observation, step[0][k])
            assert (reward, terminated, truncated) == (step[1][k], step[2][k], step[3][k])
    assert many.np_random_seed == (10, 11, 12)
    assert many.action_space.shape == (3, 3)
    assert many.single_observation_space.shape == (15,)


def test_seeds_of_numpy_are_those_of_python():
    environment = VectorEnvironment(ReachRope, 2)
    expected, _ = environment.reset(seed=7)
    for seed in (np.int64(7), np.array([7, 8]), [np.uint32(7), 8]):
        np.testing.assert_array_equal(environment.reset(seed=seed)[0], expected)  # type: ignore


def test_a_world_that_the_first_reset_left_out_waits_for_its_own():
    environment = VectorEnvironment(ReachRope, 2)
    environment.reset(seed=0, options={"reset_mask": np.array([True, False])})
    with pytest.raises(sn.SceneError, match=r"no episode has begun in worlds \[1\]"):
        environment.step(ZERO)
    environment.reset(options={"reset_mask": np.array([False, True])})
    environment.step(ZERO)


class Short(ReachRope):
    """An episode of three actions."""

    horizon = 3


ZERO = np.zeros((2, 3), np.float32)


def test_next_step_resets_in_the_step_after_the_end():
    environment = VectorEnvironment(Short, 2)
    assert environment.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP
    start, _ = environment.reset(seed=0)
    for _ in range(2):
        _, _, _, truncated, _ = environment.step(ZERO)
        assert not truncated.any()
    last, _, _, truncated, _ = environment.step(ZERO)
    assert truncated.all()
    again, rewards, terminated, truncated, infos = environment.step(ZERO)
    assert not (truncated | terminated).any()
    np.testing.assert_array_equal(rewards, 0.0)
    assert not infos["_success"].any()
    assert not np.array_equal(again, last)
    # another place than at first: the generators go on
    assert not np.array_equal(again, start)


def test_same_step_resets_at_once_and_tells_what_was_last_seen():
    environment = VectorEnvironment(Short, 2, autoreset_mode=AutoresetMode.SAME_STEP)
    environment.reset(seed=0)
    for _ in range(2):
        environment.step(ZERO)
    seen, _, _, truncated, infos = environment.step(ZERO)
    assert truncated.all()
    assert infos["final_obs"][0].shape == (15,)
    assert not np.array_equal(seen[0], infos["final_obs"][0])
    assert infos["_final_info"].all()
    _, _, _, truncated, _ = environment.step(ZERO)
    assert not truncated.any()


def test_disabled_waits_for_a_masked_reset():
    environment = VectorEnvironment(Short, 2, autoreset_mode=AutoresetMode.DISABLED)
    environment.reset(seed=0)
    for _ in range(3):
        seen, _, _, truncated, _ = environment.step(ZERO)
    assert truncated.all()
    with pytest.raises(sn.SceneError, match=r"worlds \[0, 1\] have ended; reset them first"):
        environment.step(ZERO)
    first, infos = environment.reset(options={"reset_mask": np.array([True, False])})
    np.testing.assert_array_equal(first[1], seen[1])
    assert not np.array_equal(first[0], seen[0])
    np.testing.assert_array_equal(infos["_success"], [True, False])
    environment.reset(options={"reset_mask": np.array([False, True])})
    environment.step(ZERO)


def test_worlds_end_on_their_own_and_others_go_on():
    """One pole is let fall: its world starts anew, bit by bit as it would alone; that of the other does not notice."""
    environment = VectorEnvironment(FlexiblePole, 2)
    alone = VectorEnvironment(FlexiblePole, 2)
    for each in (environment, alone):
        each.reset(seed=4)
    ended = 0
    for _ in range(120):
        steady = np.tanh(environment.task.script())
        kept, fallen = steady.copy(), steady.copy()
        fallen[0] = 1.0
        first = environment.step(fallen)
        second = alone.step(kept)
        ended += int(first[2][0])
        np.testing.assert_array_equal(first[0][1], second[0][1])
    assert ended >= 2


class Blown(ReachRope):
    """A task whose actions blow worlds up."""

    def act(self, actions):
        self.worlds.velocities(self.rope)[actions[:, 0] > 0.5] = np.inf


def test_a_world_that_diverges_ends_its_episode_and_starts_anew():
    environment = VectorEnvironment(Blown, 2)
    environment.reset(seed=0)
    actions = ZERO.copy()
    actions[1] = 1.0
    seen, _, terminated, _, _ = environment.step(actions)
    np.testing.assert_array_equal(terminated, [False, True])
    assert np.isfinite(seen).all()
    _, _, terminated, _, _ = environment.step(ZERO)
    assert not terminated.any()
    assert not environment.task.worlds.diverged.any()


class _Lost(Blown):
    """Has no numbers to tell of worlds that have diverged."""

    def observe(self):
        return np.where(self.worlds.diverged[:, None], np.nan, super().observe())

    def reward(self):
        return np.where(self.worlds.diverged, np.nan, 1.0)


def test_a_world_that_diverges_gives_numbers_to_its_learner():
    environment = VectorEnvironment(_Lost, 2)
    environment.reset(seed=0)
    seen, rewards, terminated, _, _ = environment.step(np.array([[0, 0, 0], [1, 0, 0]], np.float32))
    np.testing.assert_array_equal(terminated, [False, True])
    np.testing.assert_array_equal(rewards, [1.0, 0.0])
    assert seen[0].any()
    assert not seen[1].any()


class _Dropped(Short):
    """Is done, and lost, with the last action."""

    def succeeded(self):
        return self.elapsed >= self.horizon

    failed = succeeded


def test_a_task_that_is_lost_with_its_last_action_is_not_done():
    environment = VectorEnvironment(_Dropped, 2)
    environment.reset(seed=0)
    for _ in range(3):
        _, _, terminated, truncated, infos = environment.step(ZERO)
    assert terminated.all()
    assert not truncated.any()
    assert not infos["success"].any()


class _Blind(ReachRope):
    def observe(self):
        return np.zeros((3, 4))


class _Hasty(ReachRope):
    every = 0


class _Threaded(ReachRope):
    settings: ClassVar = {"threads": 2}


def played_with(method: str, value) -> None:
    """A step of two worlds of a task one method of which gives a value."""
    environment = VectorEnvironment(type("_Given", (ReachRope,), {method: lambda task: value}), 2)
    environment.reset(seed=0)
    environment.step(ZERO)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: VectorEnvironment(ReachRope, 0), "worlds: count: must be at least 1"),
        (lambda: Environment(ReachRope, render_mode="ascii"), "render_mode: expected one of rgb_array, human"),
        (lambda: VectorEnvironment(ReachRope, 2).reset(seed=[1]), "seed: expected 2 seeds, got 1"),
        (
            lambda: VectorEnvironment(ReachRope, 2).reset(options={"reset_mask": [True]}),
            r"reset_mask: expected \(2,\) bool",
        ),
        (lambda: VectorEnvironment(ReachRope, 2).step(np.zeros((2, 4))), r"actions: expected shape \(2, 3\)"),
        (lambda: VectorEnvironment(ReachRope, 2).step(np.full((2, 3), np.nan)), "actions: not a finite number"),
        (lambda: Environment(ReachRope).step([[1], [1, 2]]), "environment: action: expected"),  # type: ignore
        (lambda: Environment(None), "environment: task: expected a class derived from Task, got None"),  # type: ignore
        (lambda: Environment(lambda count: None), "environment: task: expected a Task, got None"),  # type: ignore
        (lambda: VectorEnvironment(ReachRope, 2, autoreset_mode="later"), "autoreset_mode: expected AutoresetMode"),
        (lambda: VectorEnvironment(ReachRope, 2).reset(seed=1.5), "environment: seed: expected"),  # type: ignore
        (lambda: VectorEnvironment(ReachRope, 2).reset(options=5), "environment: options: expected a dict"),  # type: ignore
        (lambda: VectorEnvironment(ReachRope, 2).step(ZERO), r"step: no episode has begun in worlds \[0, 1\]; reset"),
        (lambda: Environment(ReachRope).step(ZERO[0]), r"step: no episode has begun in worlds \[0\]; reset them first"),
        (
            lambda: VectorEnvironment(ReachRope, 2).reset(options={"resetmask": [True, False]}),
            "options: unknown option 'resetmask'; known are reset_mask",
        ),
        (lambda: Environment(ReachRope).reset(options={"mass": 2}), "unknown option 'mass'; there are none"),
        (lambda: Environment(ReachRope, thread=2), "unknown option 'thread'; known are threads, render_mode"),
        (lambda: VectorEnvironment(ReachRope, 2, autoreset=1), "'autoreset'; known are threads, num_envs"),
        (lambda: register("mine/Lift-v0", None), "register: task: expected a class"),  # type: ignore
        (lambda: register(5, ReachRope), "register: name: expected a text"),  # type: ignore
        (lambda: Environment(_Blind).reset(), r"_Blind: observe: expected shape \(1, 15\), got \(3, 4\)"),
        (lambda: Environment(_Hasty), "_Hasty: every: must be at least 1, got 0"),
        (lambda: Environment(_Threaded), "_Threaded: settings: 'threads' belongs to the environment"),
        (lambda: played_with("reward", np.zeros((2, 1))), r"_Given: reward: expected shape \(2,\), got \(2, 1\)"),
        (lambda: played_with("reward", ["a", "b"]), "_Given: reward: expected numbers, got an array"),
        (lambda: played_with("reward", [0.0, np.nan]), r"_Given: reward: expected numbers, got nan in worlds \[1\]"),
        (lambda: played_with("observe", np.full((2, 15), np.nan)), r"observe: expected numbers, got nan in worlds \[0"),
        (lambda: played_with("succeeded", [0, 1]), "_Given: succeeded: expected truth values, got an array of int64"),
        (lambda: played_with("failed", None), r"_Given: failed: expected shape \(2,\), got \(\)"),
        (lambda: Environment(ReachRope).reset(seed=-1), "environment: seed: must be at least 0, got -1"),
        (lambda: VectorEnvironment(ReachRope, 2).reset(seed=[1, 2.5]), "seed: expected a whole number, got 2.5"),  # type: ignore
        (lambda: register("a/b/Lift-v0", ReachRope), "register: name: expected one such as 'mine/Lift-v0'"),
    ],
)
def test_bad_input_is_told_in_one_line(call, message):
    with pytest.raises(sn.ShinariError, match=message) as told:
        call()
    assert "\n" not in str(told.value)


def test_pictures_of_all_worlds():
    pytest.importorskip("pyvista")
    environment = VectorEnvironment(ReachRope, 2, render_mode="rgb_array")
    environment.reset(seed=0)
    images = environment.render()
    assert images is not None
    assert [image.shape for image in images] == [(360, 480, 3)] * 2
    for _ in range(5):
        environment.step(np.ones((2, 3), np.float32))
    later = environment.render()
    assert later is not None
    assert not np.array_equal(images[0], later[0])
    environment.close()


def test_a_page_in_the_browser_shows_the_first_world(capsys):
    pytest.importorskip("viser")
    environment = Environment(ReachRope, render_mode="human")
    environment.reset(seed=0)
    assert "shinari viewer at http://" in capsys.readouterr().out
    page = environment._rendering.page
    assert page is not None
    for _ in range(3):
        environment.step(np.ones(3, np.float32))
    # the first point of the rope goes 4 cm along each axis in an action
    until(lambda: page.follower.latest().positions[0, 0] > 0.11, "a later frame")
    environment.close()

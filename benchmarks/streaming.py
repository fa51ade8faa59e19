"""The viewer while a simulation runs: updates that arrive at a client, and what they cost the solver.

    python benchmarks/streaming.py [--points 100] [--seconds 4] [--rounds 5]

A sheet of 100 x 100 vertices with the default 20 substeps. A client in a process of its own, without a browser, reads
viser's websocket and counts the updates of the sheet. The CPU time of the threads says the same as the steps in a
second, and says it on a busy machine too: what the page and its server take is to be compared with all that the solver
takes at its rate. Rounds without viewer, with a viewer nobody looks at and with a
client follow each other in turns, so that other load on the machine meets all of them; the solver is not held to real
time.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import threading
import time

import numpy as np

import shinari as sn


def sheet(points: int) -> sn.Scene:
    """A sheet of a metre that hangs from two corners."""
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(points, points)), position=(0.0, 1.2, 0.0), name="sheet")
    cloth.pin([0, points - 1])
    return scene


def rate_alone(simulation: sn.Simulation, seconds: float) -> float:
    """Steps in a second without a viewer."""
    begun, steps = time.perf_counter(), 0
    while time.perf_counter() - begun < seconds:
        simulation.step()
        steps += 1
    return steps / (time.perf_counter() - begun)


def rate_viewed(page, seconds: float) -> tuple[float, float]:
    """Steps in a second of the runner, and CPU time of the threads of page and server in a second [s]."""
    runner = page.runner
    threads = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    others = [time.pthread_getcpuclockid(t.ident) for t in threads if t.ident and t is not runner._thread]
    begun, steps, used = time.perf_counter(), runner.steps, sum(map(time.clock_gettime, others))
    time.sleep(seconds)
    elapsed = time.perf_counter() - begun
    return (runner.steps - steps) / elapsed, (sum(map(time.clock_gettime, others)) - used) / elapsed


async def count_updates(address: str, seconds: float) -> tuple[int, int]:
    """Updates of vertices that arrive, and bytes, once the first has come."""
    import msgspec
    import viser
    import websockets
    import zstandard

    updates = received = 0
    protocol = websockets.Subprotocol(f"viser-v{viser.__version__}")
    async with websockets.connect(address, subprotocols=[protocol], max_size=None, compression=None) as socket:
        await socket.recv()
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            data = await socket.recv()
            received += len(data)
            size = int.from_bytes(data[8:16], "little")
            content = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(data[16 : 16 + size]))
            updates += sum("vertices" in message.get("updates", {}) for message in content["messages"])
    return updates, received


def main() -> None:
    """Take turns, print the medians."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--points", type=int, default=100, help="vertices along an edge of the sheet")
    parser.add_argument("--seconds", type=float, default=4.0, help="length of a round [s]")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--client", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        updates, received = asyncio.run(count_updates(given.client, given.seconds))
        print(updates / given.seconds, received / given.seconds)
        return

    from shinari.view.server import page_address, serve
    from shinari.view.sources import simulation_source

    alone = sn.Simulation(sheet(given.points))
    alone.step(20)
    source = simulation_source(lambda: (sheet(given.points), {}), "sheet", playing=False)
    page = serve({"sheet": source}, "sheet", port=0)
    page.runner.speed = 16.0
    page.runner.play()
    while page.runner.steps < 20:
        time.sleep(0.1)
    rates = {"alone": [], "viewer": [], "client": []}
    updates, shares = [], []
    for _ in range(given.rounds):
        page.runner.pause().result()
        rates["alone"].append(rate_alone(alone, given.seconds))
        page.runner.play().result()
        rates["viewer"].append(rate_viewed(page, given.seconds)[0])
        words = [sys.executable, __file__, "--client", page_address(page).replace("http", "ws")]
        words += ["--seconds", str(given.seconds + 0.5)]
        client = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        while not page.server._websock_server._client_state_from_id:
            time.sleep(0.05)
        time.sleep(0.3)
        rate, used = rate_viewed(page, given.seconds)
        rates["client"].append(rate)
        shares.append(used)
        out, _ = client.communicate()
        updates.append([float(number) for number in out.split()])
    page.close()
    medians = {name: statistics.median(values) for name, values in rates.items()}
    for name, values in rates.items():
        cost = statistics.median(1.0 - np.array(values) / rates["alone"])
        print(
            f"{name:8} {medians[name]:7.1f} steps/s   cost {100 * cost:5.1f} %   rounds {np.round(values, 1).tolist()}"
        )
    print(f"page and server take {1e3 * statistics.median(shares):.0f} ms of CPU in a second with a client")
    per_second, amount = np.median(updates, axis=0)
    print(
        f"updates  {per_second:7.1f} /s at the client, {amount / 1e6:.1f} MB/s   {np.round(updates, 1)[:, 0].tolist()}"
    )


if __name__ == "__main__":
    main()

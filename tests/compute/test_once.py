"""What is made once is made once for all threads."""

import threading
import time

from shinari.compute.once import once


def test_threads_that_ask_at_once_get_the_same():
    made = []

    @once
    def build(number):
        time.sleep(0.05)  # long enough for all to ask
        made.append(number)
        return object()

    got = []
    threads = [threading.Thread(target=lambda: got.append(build(3))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [3]
    assert len(got) == 8
    assert len(set(map(id, got))) == 1
    assert build(4) is not got[0]


def test_what_is_made_may_ask_for_another():
    @once
    def build(number):
        return (number, build(number - 1)) if number else ()

    assert build(3) == (3, (2, (1, ())))

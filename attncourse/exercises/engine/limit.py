"""A time limit around code that may never end."""

import ctypes
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

AGAIN = 0.1  # seconds after which the limit strikes again: a bare `except:` may swallow it once
PATIENCE = 4  # on a busy machine, work takes so many times as long by the clock on the wall


class TimeUp(BaseException):
    """Not an Exception: an answer's `except Exception` must not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeUp inside the block once it has worked for `seconds`.

    On the main thread of a POSIX system signals do it: one after so much work of the processor, so that a verdict
    does not depend on what else the machine does; one by the clock, later, to end sleeps and waiting for input.
    Elsewhere (Windows, other threads) another thread asks the interpreter to raise, by the clock: that ends loops, and
    a sleep only once it is over. Neither can interrupt a single long call into compiled code.
    """
    if sys.platform == "emscripten":  # in the page the worker is ended from outside: there are no signals, no threads
        yield
        return
    main = threading.current_thread() is threading.main_thread()
    stop = (_by_signal if main and hasattr(signal, "setitimer") else _by_thread)(seconds)
    try:
        yield
    finally:
        while True:  # a strike may still fall into these very lines
            try:
                stop()
                break
            except TimeUp:
                continue


def _by_signal(seconds: float) -> Callable[[], None]:
    """Start the clock; -> what stops it."""

    def strike(*_):
        raise TimeUp

    def stop():
        for clock, (number, before) in clocks.items():
            signal.setitimer(clock, 0)
            signal.signal(number, before)

    numbers = {signal.ITIMER_PROF: signal.SIGPROF, signal.ITIMER_REAL: signal.SIGALRM}
    clocks = {clock: (number, signal.signal(number, strike)) for clock, number in numbers.items()}
    signal.setitimer(signal.ITIMER_PROF, seconds, AGAIN)
    signal.setitimer(signal.ITIMER_REAL, PATIENCE * seconds, AGAIN)
    return stop


def _by_thread(seconds: float) -> Callable[[], None]:
    target = ctypes.c_ulong(threading.get_ident())
    done, lock = threading.Event(), threading.Lock()
    raise_in = ctypes.pythonapi.PyThreadState_SetAsyncExc

    def watch():
        wait = seconds
        while not done.wait(wait):
            with lock:  # so that nothing is raised after the block has ended
                if not done.is_set():
                    raise_in(target, ctypes.py_object(TimeUp))
            wait = AGAIN

    def stop():
        with lock:
            done.set()
            raise_in(target, None)  # a strike that is still on its way

    threading.Thread(target=watch, daemon=True).start()
    return stop

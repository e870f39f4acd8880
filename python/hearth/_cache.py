"""The cache."""

from __future__ import annotations

import atexit
import ctypes
import math
import os
import threading
import weakref

from . import _helper, _jobs
from ._entry import Entry, Lease
from ._errors import Error, Status
from ._jobs import DROP, Job, as_sections
from ._key import Key
from ._library import GetOptions, Options, c_bytes, c_text, check, fail, failure, library, text, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Any, Callable, Optional, Union

    from ._jobs import Result

    # What a setting may be given as.
    Setting = Union[str, int, float, bool, os.PathLike[str], Sequence[str]]

_OF_PROCESS, _OF_DIRECTORY = 0, 1


class Stats:
    """What has happened: counts, and nanoseconds of compiling."""

    __module__ = "hearth"

    hits: int
    misses: int
    outages: int
    stores: int
    compiles: int
    compile_failures: int
    waited: int
    forbidden: int
    evictions: int
    corrupt: int
    compile_ns_spent: int
    compile_ns_saved: int
    compiles_after_ready: int

    # As in hearth.h, where the struct's size comes first.
    _NAMES = ("hits misses outages stores compiles compile_failures waited forbidden evictions corrupt "
              "compile_ns_spent compile_ns_saved compiles_after_ready").split()  # fmt: skip

    def __init__(self, values: Sequence[int]) -> None:
        self.__dict__.update(zip(self._NAMES, values))

    def __repr__(self) -> str:
        return f"hearth.Stats({', '.join(f'{name}={getattr(self, name)}' for name in self._NAMES)})"


def ready() -> None:
    """Marks the end of start-up, for this process and, under `hearth run`, for all of the run. Compiles from here on are
    counted and named in the log; `hearth run --forbid-compile=after-ready` refuses them."""
    library().hearth_ready()


class Handle:
    """A cache of the library, in use by `with handle as address`. Closed when nobody is inside any more: not under the
    feet of a thread, and not late because an exception still refers to it. Without a lock, since a thread that holds
    one may be left behind by a fork: each step is one that Python does whole."""

    __slots__ = ("_addresses", "_users", "_close", "closing", "__weakref__")

    def __init__(self, address: int, close: Callable[[int], object]) -> None:
        self._addresses = [address]  # taken by the one who closes it
        self._users: list[int] = []  # threads, as often as they are inside
        self._close = close
        self.closing = False

    def __enter__(self) -> int:
        self._users.append(threading.get_ident())  # before looking at `closing`: close() does both the other way round
        if not self.closing:
            return self._addresses[0]
        self.__exit__()
        raise Error(Status.UNAVAILABLE, "The cache is closed. Open it again with hearth.Cache.open().")

    def __exit__(self, *error: object) -> None:
        try:
            self._users.remove(threading.get_ident())
        except ValueError:
            pass  # a forked child, which was told to forget its helper
        if self.closing:
            self.close()

    def close(self, are_stuck: Callable[[], bool] = _jobs.are_stuck) -> None:
        self.closing = True
        if self._users or are_stuck():
            return
        try:
            self._close(self._addresses.pop())
        except IndexError:
            pass  # closed already

    def forget_users(self) -> None:
        """After a fork: all but this thread are in the parent."""
        self._users = [user for user in self._users if user == threading.get_ident()]

    def __del__(self) -> None:
        self.close()


class Cache:
    """A cache of what compilers produce: memory over disk, and whatever else the settings name. Any number of threads
    may use it at once, and a forked child goes on with it. Sent to another process, as multiprocessing does, it is
    opened there anew.

    >>> with hearth.Cache.open() as cache:
    ...     entry = cache.get_or_compile(hearth.key("my-compiler", "1.4", source), lambda: compile(source))
    ...     run(entry.data)
    """

    __module__ = "hearth"

    _shared: Optional[Cache] = None

    def __init__(self, handle: Handle, directory: Optional[str], settings: dict[str, Setting]) -> None:
        """Use Cache.open() or Cache.shared()."""
        self._handle = handle
        self._directory = directory
        self._settings = settings
        _handles.add(handle)

    @classmethod
    def open(cls, directory: Optional[Union[str, os.PathLike[str]]] = None, **settings: Setting) -> Cache:
        """Opens a cache: in `directory`, or where the environment or the configuration file say. Settings have the
        names that `hearth config` lists, and come before the environment.

        >>> cache = hearth.Cache.open("kernels", max_bytes="2G", memory_bytes=64 << 20, read_only=False)

        A tier that cannot be opened is left out. hearth.Error: a setting is not known, or its value is none.
        """
        place = None if directory is None else os.fspath(directory)
        if place:
            place = os.path.abspath(place)  # this cache may be sent to a process that is elsewhere
        texts = [c_text(f'Setting "{name}"', f"{name}={_setting(name, value)}") for name, value in settings.items()]
        options = Options(size=ctypes.sizeof(Options))
        options.directory = None if place is None else c_text("The directory", place)
        options.settings = (ctypes.c_char_p * (len(texts) + 1))(*texts)  # ends with a null
        address = ctypes.c_void_p()
        functions = library()
        check(functions.hearth_open(options, ctypes.byref(address)))
        assert address.value is not None
        return cls(Handle(address.value, functions.hearth_close), place, settings)

    @classmethod
    def shared(cls) -> Cache:
        """The one cache of this process, with the settings of the environment. It is opened when it is first asked for,
        and stays open: close() only flushes it."""
        if cls._shared is None:
            functions = library()
            address = functions.hearth_shared()
            if address is None:
                raise MemoryError
            cls._shared = cls(Handle(address, functions.hearth_close), None, {})
        return cls._shared

    def get(self, key: Key) -> Optional[Entry]:
        """The entry of that key, or None if no tier has it.

        >>> entry = cache.get(key)
        >>> entry.data if entry else "not there"
        """
        digest, lease, functions = _digest(key), ctypes.c_void_p(), library()
        with self._handle as cache:
            status = functions.hearth_get(cache, digest, ctypes.byref(lease))
            if status not in (0, Status.NOT_FOUND):
                fail(status, cache)
        return None if lease.value is None else Entry(Lease(lease.value, functions.hearth_release))

    def put(
        self, key: Key, result: Result, label: str = "", compiler: str = "", compile_seconds: Optional[float] = None
    ) -> None:
        """Stores bytes, or a mapping of names to bytes, in place of what was there. `hearth ls` shows the label,
        `hearth show` the compiler. What says how long it took to compile is counted as a compile by `hearth run --summary`.

        >>> cache.put(key, {"cubin": cubin, "log": b""}, label="saxpy.cu", compiler="mine", compile_seconds=1.4)
        """
        digest, shown, sections = _digest(key), c_text("The label", label), as_sections(result)
        by, cost = c_text("The compiler", compiler), _nanoseconds(compile_seconds)
        if not shown and not by and not cost and list(sections.keys()) == [""]:
            span, kept = c_bytes("What is put", sections[""])
            with self._handle as cache:
                check(library().hearth_put_bytes(cache, digest, b"", span), cache)
            del kept
            return
        # Looked at here, so that nothing of the caller's runs inside the library.
        kept_sections = {name: bytes(view_of(f'Section "{name}"', sections[name])) for name in sections.keys()}
        job = Job(lambda: kept_sections, shown, by, cost)

        def call(cache: int, number: int, compile: object) -> int:
            return int(library().hearth_put(cache, digest, compile, number))

        self._run(job, call, on_main=False)

    def get_or_compile(
        self, key: Key, compile: Callable[[], Result], deadline: Optional[float] = None, label: str = ""
    ) -> Entry:
        """The entry of that key. If no tier has it, `compile` is called for its bytes, or for a mapping of names to
        bytes. Threads and processes that ask for the same key wait for one compile.

        What `compile` raises is raised here as it is, and nothing is stored. Those who waited for it get a
        hearth.Error. Other threads run meanwhile, and Ctrl-C ends the wait.

        `deadline` is how many seconds to wait at most. Then it is a hearth.Error with Status.TIMEOUT, and the compile
        goes on for whoever asks next; so with a deadline `compile` runs on a thread of the cache.

        >>> entry = cache.get_or_compile(key, lambda: {"cubin": assemble(ptx), "log": b""}, label="saxpy.cu")
        >>> entry.outcome
        'compiled'
        """

        digest, shown, milliseconds = _digest(key), c_text("The label", label), _milliseconds(deadline)
        if not callable(compile):
            raise TypeError(f"The compile function is a {type(compile).__name__}, which cannot be called.")
        job = Job(compile, shown)
        options = None
        if milliseconds:
            _jobs.check_may_outlive_call()
            job.dropped = threading.Event()
            options = GetOptions(ctypes.sizeof(GetOptions), milliseconds, ctypes.cast(DROP, ctypes.c_void_p))
        lease: list[Lease] = []

        def call(cache: int, number: int, function: object) -> int:
            functions = library()
            address = ctypes.c_void_p()
            status = functions.hearth_get_or_compile_with(
                cache, digest, function, number, options, ctypes.byref(address)
            )
            if address.value is not None:
                lease.append(Lease(address.value, functions.hearth_release))
            return int(status)

        self._run(job, call, on_main=options is None)
        return Entry(lease[0])

    def check_may_compile(self, label: str = "", compiler: str = "") -> None:
        """For who compiles between get() and put(): raises hearth.Error with Status.COMPILE_FORBIDDEN in a cache that
        may not compile (`hearth run --forbid-compile`). The sentence names the label.

        >>> entry = cache.get(key)
        >>> if entry is None:
        ...     cache.check_may_compile("saxpy.cu", "mine")
        ...     cache.put(key, compile(source), "saxpy.cu", "mine", seconds)
        """
        shown, by = c_text("The label", label), c_text("The compiler", compiler)
        with self._handle as cache:
            check(library().hearth_may_compile(cache, shown, by), cache)

    def remove(self, key: Key) -> bool:
        """Removes an entry from every tier, servers too. False: none had it."""
        digest = _digest(key)
        with self._handle as cache:
            status = library().hearth_remove(cache, digest)
            if status not in (Status.OK, Status.NOT_FOUND):
                fail(status, cache)
        return bool(status == Status.OK)

    def stats(self, directory: bool = False) -> Stats:
        """What has happened since this cache was opened, or with `directory` what every process that used the same
        directory has done since the last `hearth stats --reset`.

        >>> cache.stats().hits
        29
        """
        values = (ctypes.c_uint64 * (1 + len(Stats._NAMES)))(ctypes.sizeof(ctypes.c_uint64) * (1 + len(Stats._NAMES)))
        scope = _OF_DIRECTORY if directory else _OF_PROCESS
        with self._handle as cache:
            check(library().hearth_get_stats(cache, scope, values), cache)
        return Stats(values[1:])

    def flush(self) -> None:
        """Stores everything that is still on its way, and writes uses and statistics down. It happens by itself when
        the cache is closed and when Python ends, but not in a child that ends by os._exit()."""
        with self._handle as cache:
            check(library().hearth_flush(cache), cache)

    def close(self) -> None:
        """Stores everything, and closes the cache: at once, or when the last thread that is inside comes out. Entries
        stay as they are. May be called again."""
        if self is Cache._shared:
            self.flush()
        else:
            self._handle.close()

    @property
    def closed(self) -> bool:
        return self._handle.closing

    def __enter__(self) -> Cache:
        with self._handle:  # an error if it is closed
            return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        with self._handle:
            if self is Cache._shared:
                return Cache.shared, ()
            return _reopen, (self._directory, self._settings)

    def _run(self, job: Job, call: Callable[[int, int, object], int], on_main: bool) -> None:
        """Makes a call of the library that calls `job` back, and raises what that raised, or what the call did."""
        def whole() -> tuple[int, str]:
            with self._handle as cache:
                number = _jobs.add(job)
                try:
                    status = call(cache, number, _jobs.COMPILE)
                finally:
                    if job.dropped is None:
                        _jobs.remove(number)
                return status, text(library().hearth_error(cache)) if status else ""

        status, sentence = _helper.call(whole, job, on_main)
        error, job.error = job.error, None
        if status == 0:
            return
        try:
            raise error or failure(status, sentence)
        finally:
            del error  # its traceback has this frame


def _digest(key: Key) -> bytes:
    if not isinstance(key, Key):
        raise TypeError(f"A key is made by hearth.key(), and this is a {type(key).__name__}.")
    return key.digest


def _milliseconds(deadline: Optional[float]) -> int:
    if deadline is None:
        return 0
    if not 0 < deadline < 2**53:
        raise ValueError(f"The deadline is {deadline}, and has to be a number of seconds above 0, or None for none.")
    return math.ceil(deadline * 1000)


def _nanoseconds(seconds: Optional[float]) -> int:
    if seconds is None:
        return 0
    if not 0 <= seconds < 2**33:
        raise ValueError(f"The time it took to compile is {seconds}, and has to be a number of seconds, or None.")
    return max(1, int(seconds * 1e9))


def _setting(name: str, value: Setting) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, (str, int, float)):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, (list, tuple)):
        return " ".join(_item(name, item) for item in value) or "none"
    raise TypeError(f'Setting "{name}" is a {type(value).__name__}, and has to be a str, a number, a bool or a list.')


def _item(name: str, value: Setting) -> str:
    item = _setting(name, value)
    if item.split() != [item]:
        raise ValueError(f'An item of setting "{name}" is "{item}". Blanks separate items, so it can have none inside.')
    return item


def _reopen(directory: Optional[str], settings: dict[str, Setting]) -> Cache:
    return Cache.open(directory, **settings)


_handles: weakref.WeakSet[Handle] = weakref.WeakSet()


def _after_fork() -> None:
    for handle in list(_handles):
        handle.forget_users()


def _at_exit() -> None:
    try:
        _jobs.wait_for_all()
    finally:  # Ctrl-C ends that wait
        for handle in list(_handles):
            if not handle.closing:
                with handle as cache:
                    library().hearth_flush(cache)


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_after_fork)

"""What torch.compile has compiled, kept by Hearth.

>>> import hearth.inductor
>>> hearth.inductor.enable()        # before the first torch.compile

FX graphs, AOTAutograd's results and what was found by autotuning then go through Hearth's cache, behind torch's own
directory: a second process, or machine, with an empty directory compiles none of them again. Triton's kernels are inside
of FX graphs.

torch unpickles these values, so whoever may write to a server that you read from may run code in your programs. Demand
signatures there (docs/security.md): a value that nobody has signed is a miss then.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile

import torch
from torch._inductor import remote_cache

from ._frameworks import Compiles, asked, known, only_section, parsed, processor, recording
from ._key import key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ._frameworks import Sections
    from ._key import Key


_compiles = Compiles("inductor")


def _key(name: str) -> Key:
    # torch's keys leave out which instructions its C++ may use.
    return key("torch", name, on=f"{processor()} {os.environ.get('ATEN_CPU_CAPABILITY', '')}")


class Backend(remote_cache.RemoteCacheBackend):  # type: ignore[misc]  # torch's has no types that hold here
    """Where torch's remote caches put their values: an entry each."""

    # A miss is no error where compiling is forbidden: it is not known here whether anything is compiled for it. What is
    # compiled then, Triton's kernels or C++, is asked for too.
    def _get(self, name: str) -> Any:
        def read(sections: Sections) -> bytes:
            data = bytes(only_section(sections, "bytes"))
            _check(name, parsed(data))
            return data

        return asked("inductor", lambda: _compiles.find(_key(name), read))

    def _put(self, name: str, data: Any) -> None:
        def sections() -> dict[str, bytes]:
            _check(name, parsed(data))  # what would be refused is not kept
            return {"bytes": data}

        _compiles.keep(_key(name), name[:100], sections)


def _check(name: str, value: Any) -> None:
    """That torch gets what it put: it takes it as it is, and fails with what is not. Its caches of FX graphs and of
    AOTAutograd look for themselves."""
    if not isinstance(value, dict):
        raise ValueError("it is no dict")
    if name.startswith("pt2:bundled-autotune"):
        # Names of files, which torch writes wherever they lead.
        if not all(re.fullmatch(r"\w+\.best_config", file, re.ASCII) for file in value):
            raise ValueError("it names a file that is no result of autotuning")
        for tuned in value.values():
            _check_tuned(tuned)
    elif "configs_hash" in value or not isinstance(value.get("data"), str):
        _check_tuned(value)


def _check_tuned(value: Any) -> None:
    """A configuration that was found best: numbers for the kernel, and for torch."""
    if not isinstance(value, dict) or any(isinstance(one, (dict, list)) for one in value.values()):
        raise ValueError("it is no result of autotuning")
    if any(type(value.get(name)) is not int for name in ("num_warps", "num_stages")):
        raise ValueError("it is a result of autotuning without numbers of warps and stages")
    if not all(abs(value.get(name, 0)) < 1e18 for name in ("time_taken_ms", "time_saved_ns")):
        raise ValueError("it is a result of autotuning with a time that is no number")


def enable() -> None:
    """Turns torch's remote caches on, with Hearth behind them. Those that a program has turned off by name stay off, and
    so does all of it where the program has a server for them."""
    import torch._functorch.config
    import torch._inductor.config

    served = remote_cache.RedisRemoteCache
    if not known("torch", torch.__version__, (2, 11), (2, 15)) or served.backend_override_cls is not None:
        return
    if any(name.startswith("TORCHINDUCTOR_REDIS_") for name in os.environ):
        return
    served.backend_override_cls = Backend
    names = ["fx_graph_remote_cache"]
    if _has_gpu():
        names += ["autotune_remote_cache", "bundled_autotune_remote_cache"]  # torch fails with these where there is none
    for config, name in [
        *((torch._inductor.config, name) for name in names),
        (torch._functorch.config, "enable_remote_autograd_cache"),
    ]:
        if getattr(config, name, False) is None:
            setattr(config, name, True)
    if recording:
        _use_an_empty_directory()


def _use_an_empty_directory() -> None:
    """What torch finds in its own it does not ask for."""
    name, prefix, process = "TORCHINDUCTOR_CACHE_DIR", "hearth-recording-", os.getpid()
    if os.path.basename(os.environ.get(name, "")).startswith(prefix):
        return  # a child of a process that was here
    folder = os.environ[name] = tempfile.mkdtemp(prefix=prefix)

    def remove() -> None:
        if os.getpid() == process:
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)


def _has_gpu() -> bool:
    # torch itself is not asked: that could not be taken back in a child that is forked later.
    return any(os.path.exists(device) for device in ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg"))


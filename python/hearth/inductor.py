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

import json
import os

from torch._inductor import remote_cache

from ._cache import Cache
from ._frameworks import asked
from ._key import key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Backend(remote_cache.RemoteCacheBackend):  # type: ignore[misc]  # torch's has no types that hold here
    """Where torch's remote caches put their values: an entry each."""

    def _get(self, name: str) -> Any:
        def find() -> Any:
            entry = Cache.shared().get(key("torch", name))
            if entry is None:
                return None
            sections = entry.sections
            return json.loads(bytes(sections["json"])) if "json" in sections else bytes(sections["bytes"])

        return asked("torch", find)

    def _put(self, name: str, data: Any) -> None:
        def store() -> None:
            kind, value = ("bytes", data) if isinstance(data, bytes) else ("json", json.dumps(data).encode())
            Cache.shared().put(key("torch", name), {kind: value}, label=f"torch {name}"[:100])

        asked("torch", store)


def enable() -> None:
    """Turns torch's remote caches on, with Hearth behind them. Those that a program has turned off by name stay off."""
    import torch._functorch.config
    import torch._inductor.config

    remote_cache.RedisRemoteCache.backend_override_cls = Backend
    names = ["fx_graph_remote_cache"]
    if _has_gpu():
        names += ["autotune_remote_cache", "bundled_autotune_remote_cache"]  # torch fails with these where there is none
    for config, name in [
        *((torch._inductor.config, name) for name in names),
        (torch._functorch.config, "enable_remote_autograd_cache"),
    ]:
        if getattr(config, name, False) is None:
            setattr(config, name, True)


def _has_gpu() -> bool:
    # torch itself is not asked: that could not be taken back in a child that is forked later.
    return any(os.path.exists(device) for device in ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg"))


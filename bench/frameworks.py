#!/usr/bin/env python3
"""How long programs of Triton, torch.compile and JAX take: cold, with the framework's own caches warm, and with nothing
warm but Hearth's.

  frameworks.py HEARTH [triton|torch|jax ...]      HEARTH is the command

The programs are those of tests/programs, unchanged. Each kind of run is a whole process, from its start to its end; kinds
are run in turn, so that all see the same machine. Prints medians in seconds. Where a framework or a GPU is missing, it
says so. "own and Hearth" has both warm: what a second process on the same machine has.
"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROUNDS = 3
PROGRAMS = {"triton": "triton_program.py", "torch": "torch_compile_program.py", "jax": "jax_program.py"}
TESTS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "programs"


class Runs:
    """A program, and the folders of its caches."""

    def __init__(self, hearth, program, folder):
        self._hearth = hearth
        self._program = str(TESTS / program)
        self._own = folder / "own"
        self._ours = folder / "hearth"
        self.said = None

    def environment(self):
        places = {"TRITON_CACHE_DIR": "triton", "TORCHINDUCTOR_CACHE_DIR": "inductor", "JAX_COMPILATION_CACHE_DIR": "jax"}
        return {
            **os.environ,
            **{name: str(self._own / place) for name, place in places.items()},
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "CUDA_CACHE_DISABLE": "1",
            "HEARTH_DIR": str(self._ours),
        }

    def wipe(self, own=False, ours=False):
        for folder in ([self._own] if own else []) + ([self._ours] if ours else []):
            shutil.rmtree(folder, ignore_errors=True)

    def seconds(self, served):
        words = [self._hearth, "run", "--"] if served else []
        start = time.perf_counter()
        done = subprocess.run([*words, sys.executable, self._program], env=self.environment(), capture_output=True, text=True)
        took = time.perf_counter() - start
        if done.returncode == 77:
            raise LookupError(done.stdout.strip())
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        if self.said not in (None, done.stdout):
            raise RuntimeError(f"It said {self.said!r}, and now {done.stdout!r}.")
        self.said = done.stdout
        return took


def measure(hearth, name, folder):
    runs = Runs(hearth, PROGRAMS[name], folder)
    runs.seconds(False)  # the files of the framework are in memory from here on
    times = {}

    def note(kind, served):
        times.setdefault(kind, []).append(runs.seconds(served))

    runs.wipe(own=True)
    note("cold", False)
    for _ in range(ROUNDS):
        note("own warm", False)
    runs.wipe(own=True, ours=True)
    note("Hearth cold", True)
    for _ in range(ROUNDS):
        runs.wipe(own=True)
        note("Hearth warm", True)
        note("own and Hearth", True)
    return {kind: statistics.median(all_of_it) for kind, all_of_it in times.items()}


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    hearth = os.path.abspath(sys.argv[1])
    print(f"{'':8}{'cold':>10}{'own warm':>10}{'Hearth cold':>13}{'Hearth warm':>13}{'both':>8}   Hearth/own")
    for name in sys.argv[2:] or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = measure(hearth, name, pathlib.Path(folder))
            except LookupError as why:
                print(f"{name:8}{why}")
                continue
        columns = [found[kind] for kind in ("cold", "own warm", "Hearth cold", "Hearth warm", "own and Hearth")]
        widths = (10, 10, 13, 13, 8)
        row = "".join(f"{value:{width}.2f}" for value, width in zip(columns, widths))
        print(f"{name:8}{row}   {found['Hearth warm'] / found['own warm']:.2f}x", flush=True)


if __name__ == "__main__":
    main()

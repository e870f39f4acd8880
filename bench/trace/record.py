#!/usr/bin/env python3
"""Records what real programs compile, as traces for the policies (`hearth_bench --only policy`).

  record.py --hearth build/hearth --out FOLDER [--cupy-tests TESTS] [--only FAMILY] [--seconds 90]

Runs bench/trace/programs.py, and the test files of CuPy in TESTS (the folder `tests` of its source package on PyPI), under
`hearth run --log` with an empty cache of Hearth's and with the programs' own caches empty. Every program is a process of
its own and runs --rounds times, in another order each time. One that fails or takes too long leaves the others alone; what
is not installed is skipped with a line that says so.

FOLDER gets recorded.trace, and the logs in logs.tar.gz, which have names and paths in them and belong in no repository.
The trace belongs in bench/trace.
"""

import argparse
import concurrent.futures
import glob
import os
import random
import signal
import subprocess
import sys
import tarfile
import tempfile
import time

import make_trace

HERE = os.path.dirname(os.path.abspath(__file__))
SKIPPED = 77


def arguments_of():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hearth", required=True, help="the command")
    parser.add_argument("--out", required=True)
    parser.add_argument("--python", default=sys.executable, help="that has the packages; this one if not said")
    parser.add_argument("--cupy-tests", help="the folder `tests` of CuPy's source package")
    parser.add_argument("--files", type=int, default=40, help="how many of CuPy's test files; spread over all")
    parser.add_argument("--tests", type=int, default=20, help="how many tests of each file; spread over all")
    parser.add_argument("--path", default="", help="more folders for Python's packages, such as one with pytest")
    parser.add_argument("--only", action="append", help="a family; may be given several times")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 2))
    parser.add_argument("--seconds", type=float, default=90, help="for everything; what has not begun by then is left out")
    parser.add_argument("--program-seconds", type=float, default=40, help="for one program at most")
    return parser.parse_args()


def spread(things, count):
    """`count` of them, from all parts of the list."""
    return things if len(things) <= count else [things[i * len(things) // count] for i in range(count)]


def programs_of(given):
    """name -> command line. The family stands before the slash."""
    listing = subprocess.run([given.python, os.path.join(HERE, "programs.py")], capture_output=True, text=True, check=True)
    programs = {name: [given.python, os.path.join(HERE, "programs.py"), name] for name in listing.stdout.split()}
    if given.cupy_tests:
        files = sorted(
            os.path.relpath(path, given.cupy_tests)
            for part in ("cupy_tests", "cupyx_tests")
            for path in glob.glob(os.path.join(given.cupy_tests, part, "**", "test_*.py"), recursive=True)
        )
        for path in spread(files, given.files):
            programs["cupy_tests/" + path[:-3].replace(os.sep, ".")] = [
                given.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "few_tests", path]  # fmt: skip
    return {name: words for name, words in programs.items() if not given.only or name.split("/")[0] in given.only}


def environment_of(given, scratch, own):
    """The programs' own caches are new each time, so that they ask for everything that they use."""
    path = os.pathsep.join(part for part in (HERE, given.path, os.environ.get("PYTHONPATH", "")) if part)
    return {
        **os.environ,
        "PYTHONPATH": path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HEARTH_DIR": os.path.join(scratch, "cache"),
        "HEARTH_TRACE_TESTS": str(given.tests),
        "CUPY_CACHE_DIR": os.path.join(own, "cupy"),
        "CUPY_CACHE_IN_MEMORY": "1",
        "TRITON_CACHE_DIR": os.path.join(own, "triton"),
        "TORCHINDUCTOR_CACHE_DIR": os.path.join(own, "inductor"),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
        "USE_PYTORCH_KERNEL_CACHE": "0",
        "CUDA_CACHE_DISABLE": "1",
        "TMPDIR": own,
    }


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


class Recorder:
    def __init__(self, given, scratch):
        self.given = given
        self.scratch = scratch
        self.deadline = time.monotonic() + given.seconds
        self.skipped = set()

    def run(self, number, name, words):
        """Runs a program once and says how it went. Its log is what counts, also if it was cut short."""
        left = self.deadline - time.monotonic()
        if left < 1 or name in self.skipped:
            return "left out: no time" if left < 1 else None
        log = os.path.join(self.scratch, "logs", f"{number:05}.{name.replace('/', '.')}.log")
        own = os.path.join(self.scratch, "own", str(number))
        os.makedirs(own)
        served = [self.given.hearth, "run", "--log", log, "--", *words]
        start = time.monotonic()
        process = subprocess.Popen(
            served, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
            # One directory for all runs: debug information holds it.
            cwd=self.given.cupy_tests if name.startswith("cupy_tests/") else self.scratch,
            env=environment_of(self.given, self.scratch, own))  # fmt: skip
        try:
            said = process.communicate(timeout=min(left, self.given.program_seconds))[0]
        except subprocess.TimeoutExpired:
            end(process)
            said = "\ncut short"
        if process.returncode == SKIPPED:
            self.skipped.add(name)
            os.remove(log)
        last = (said.strip().splitlines() or [""])[-1]
        how = "ok" if process.returncode == 0 else last[:120]
        return f"{time.monotonic() - start:5.1f} s  {sum(1 for _ in make_trace.lookups_of(log)) if os.path.exists(log) else 0:4} lookups  {how}"

    def run_all(self, programs):
        plan = []
        for turn in range(self.given.rounds):
            names = list(programs)
            random.Random(turn).shuffle(names)
            plan += names
        with concurrent.futures.ThreadPoolExecutor(self.given.jobs) as pool:
            runs = {pool.submit(self.run, number, name, programs[name]): name for number, name in enumerate(plan)}
            for done in concurrent.futures.as_completed(runs):
                error = done.exception()
                if error or done.result():
                    print(f"{runs[done]:50} {error or done.result()}", flush=True)


def write_traces(given, scratch):
    logs = sorted(glob.glob(os.path.join(scratch, "logs", "*.log")))
    runs = make_trace.write_traces(
        os.path.join(given.out, "recorded.trace"), [(os.path.basename(log).split(".")[1], log) for log in logs])  # fmt: skip
    print(f"recorded.trace: {runs} runs")
    with tarfile.open(os.path.join(given.out, "logs.tar.gz"), "w:gz") as archive:
        archive.add(os.path.join(scratch, "logs"), "logs")


def main():
    given = arguments_of()
    for name in ("hearth", "out", "cupy_tests", "python"):
        value = getattr(given, name)
        if value and (name != "python" or os.sep in value):
            setattr(given, name, os.path.abspath(value))  # a python in an environment is a link that must stay one
    if given.path:
        given.path = os.path.abspath(given.path)
    os.makedirs(given.out, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        os.makedirs(os.path.join(scratch, "logs"))
        recorder = Recorder(given, scratch)
        recorder.run_all(programs_of(given))
        write_traces(given, scratch)


if __name__ == "__main__":
    main()

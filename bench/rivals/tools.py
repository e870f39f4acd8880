"""Caches for compilers that are programs, each with its own defaults and a directory of its own."""

import json
import os
import shutil
import subprocess
from pathlib import Path


def run(words, directory, environment):
    done = subprocess.run(words, cwd=directory, env=environment, capture_output=True, text=True, errors="replace")
    return done.returncode, done.stdout, done.stderr


class Tool:
    """A compiler cache with a directory of its own. counts(): hits and compiles since it was emptied."""

    keeps_symbols = True  # its objects have the symbols that the compiler gives them

    def __init__(self, program, home):
        self.program = program
        self.home = home
        self.variables = {}
        self.to_count = {}  # variables with which compiles() can tell

    def words(self, command):
        return [self.program, *command]

    def empty(self):
        shutil.rmtree(self.home, ignore_errors=True)
        self.home.mkdir(parents=True)

    def close(self):
        pass

    def compiles(self):
        """Of whole commands, since it was emptied."""
        return self.counts()[1]

    def ask(self, *words):
        return run([self.program, *words], "/", {**os.environ, **self.variables})[1]


class Hearth(Tool):
    name = "hearth exec"

    def __init__(self, program, home):
        super().__init__(program, home)
        self.variables = {"HEARTH_DIR": str(home / "cache"), "HOME": str(home), "XDG_CONFIG_HOME": str(home)}
        self.to_count = {"HEARTH_RUN_LOG": str(home / "log")}

    def version(self):
        return self.ask("--version").split("\n")[0].split()[1]

    def empty(self):
        super().empty()
        Path(self.to_count["HEARTH_RUN_LOG"]).touch()

    def words(self, command):
        return [self.program, "exec", "--", *command]

    def counts(self):
        stats = json.loads(self.ask("stats", "--json"))
        return stats["hits"] + stats["waited"], stats["compiles"]

    def compiles(self):
        # The statistics count the steps of nvcc, too.
        lines = Path(self.to_count["HEARTH_RUN_LOG"]).read_text().splitlines()
        noted = [event for event in map(json.loads, lines) if event["what"] == "command"]
        return sum(event["outcome"] not in ("hit", "waited") for event in noted)


class Ccache(Tool):
    name = "ccache"

    def __init__(self, program, home):
        super().__init__(program, home)
        self.variables = {"CCACHE_DIR": str(home / "cache"), "HOME": str(home), "XDG_CONFIG_HOME": str(home)}

    def version(self):
        return self.ask("--version").split("\n")[0].split()[-1]

    def counts(self):
        stats = dict(line.split("\t") for line in self.ask("--print-stats").splitlines())
        hits = int(stats["direct_cache_hit"]) + int(stats["preprocessed_cache_hit"])
        asked = hits + int(stats["cache_miss"]) + sum(int(stats[name]) for name in stats if name in self.UNKEPT)
        return hits, asked - hits

    # Calls that it handed to the compiler.
    UNKEPT = {"unsupported_compiler_option", "unsupported_code_directive", "unsupported_source_language",
              "multiple_source_files", "could_not_use_precompiled_header", "compiler_produced_stdout",
              "preprocessor_error", "compile_failed", "bad_compiler_arguments", "internal_error", "no_input_file",
              "called_for_link", "called_for_preprocessing", "compiler_check_failed", "bad_output_file"}


class Sccache(Tool):
    name = "sccache"
    keeps_symbols = False  # it runs nvcc's parts itself, with other temporary names

    def __init__(self, program, home):
        super().__init__(program, home)
        self.running = False
        self.variables = {"SCCACHE_DIR": str(home / "cache"), "SCCACHE_SERVER_UDS": str(home / "socket"),
                          "SCCACHE_IDLE_TIMEOUT": "600", "HOME": str(home), "XDG_CONFIG_HOME": str(home)}

    def version(self):
        return self.ask("--version").split()[-1]

    def empty(self):
        self.close()
        super().empty()
        self.ask("--start-server")
        self.running = True

    def close(self):
        if self.running:
            self.ask("--stop-server")
        self.running = False

    def counts(self):
        # A compile of nvcc is one of each kind to it (PTX, CUBIN, ...), all of which have to be hits.
        stats = json.loads(self.ask("--show-stats", "--stats-format", "json"))["stats"]
        misses = max(stats["cache_misses"]["counts"].values(), default=0)
        return sum(stats["cache_hits"]["counts"].values()), misses + stats["requests_not_cacheable"]

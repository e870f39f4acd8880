"""What tests share that start servers, or the command beside others."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest
import urllib.request

COMMAND = os.environ["HEARTH_COMMAND"]
SAMPLE_CACHE = os.environ["HEARTH_SAMPLE_CACHE"]


def free_port():
    """For a server. Below those that the system gives to whoever connects: it might give one away before the server
    has taken it."""
    while True:
        port = random.randrange(10_000, 32_768)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


def environment(directory):
    """Nothing of the caller's settings."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HEARTH_")}
    kept.update(HEARTH_DIR=directory, HOME=directory, XDG_CONFIG_HOME=directory, TERM="xterm")
    kept.pop("NO_COLOR", None)
    return kept


def as_started_by_hand():
    """A shell starts what is in its background ignoring some signals."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class CacheTest(unittest.TestCase):
    """A test with a cache directory of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hearth-page-")
        self.addCleanup(shutil.rmtree, self.folder, True)
        self.directory = os.path.join(self.folder, "cache")

    def hearth(self, *words):
        return subprocess.run(
            [COMMAND, *words], env=environment(self.directory), capture_output=True, text=True, timeout=120, cwd=self.folder
        )

    def stats(self):
        return json.loads(self.hearth("stats", "--json").stdout)

    def fill(self, entries, label=""):
        """Kernels of several compilers, compiled and used over a week."""
        subprocess.run([SAMPLE_CACHE, self.directory, str(entries), label], env=environment(self.directory), check=True, timeout=120)

    def serve(self, *words):
        """Starts a server on a free port. It is stopped, and expected to end well, when the test is over."""
        self.server = server = subprocess.Popen(
            [COMMAND, "serve", "--port", "0", *words], env=environment(self.directory), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, preexec_fn=as_started_by_hand,
        )
        self.addCleanup(self.stop, server)
        address = server.stdout.readline().strip()
        if not address:
            raise AssertionError("hearth serve did not start: " + server.stderr.read())
        return address

    def stop(self, server, number=signal.SIGTERM):
        """What it said on standard error, the first time."""
        if server.returncode is None:
            server.send_signal(number)
            _, problems = server.communicate(timeout=60)
            self.assertEqual(server.returncode, 0, problems)
            return problems


def get(address, headers=None, method="GET"):
    """Status, headers and text of an answer, whatever its status."""
    request = urllib.request.Request(address, headers=headers or {}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as answer:
        return answer.code, answer.headers, answer.read().decode()

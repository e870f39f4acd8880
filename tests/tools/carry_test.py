"""hearth carry: directories of other tools, captured, wiped and restored by the built command."""

import fcntl
import hashlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from eventually import eventually
from framework_python import PYTHON
from ports import free_port

_COMMAND = os.environ["HEARTH_COMMAND"]
_LOCK = ".hearth-carry.lock"
_LEASE = 1024  # F_SETLEASE of Linux
_LONG = 60  # seconds that nothing here takes

def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


def write(path, data=b"", when=None, mode=None):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    if mode is not None:
        os.chmod(path, mode)
    if when is not None:
        os.utime(path, ns=(when, when))


def snapshot(folder):
    """Every path below a folder with what it is: mode, time and content. The mark of a restore is no part of it."""
    found = {}
    for place, folders, names in os.walk(folder):
        for name in folders + [name for name in names if name != ".hearth-unsigned"]:
            path = os.path.join(place, name)
            status = os.lstat(path)
            shown = os.path.relpath(path, folder)
            if os.path.islink(path):
                found[shown] = ("link", os.readlink(path))
            elif os.path.isdir(path):
                found[shown] = ("folder", status.st_mode)
            else:
                with open(path, "rb") as file:
                    found[shown] = (status.st_mode, status.st_mtime_ns, file.read())
    return found


class CarryTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.scratch = os.path.realpath(folder.name)
        self.tree = self.path("tree")
        self.cache = self.path("cache")

    def path(self, *parts):
        return os.path.join(self.scratch, *parts)

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HEARTH_")}
        kept.update(HEARTH_DIR=self.cache, HOME=self.path("home"), TERM="dumb")
        kept.pop("XDG_CACHE_HOME", None)
        kept.update(more)
        return kept

    def hearth(self, *words, code=0, options=None, **environment):
        result = subprocess.run(
            [_COMMAND, *words],
            env=self.environment(**environment),
            cwd=self.scratch,
            capture_output=True,
            timeout=_LONG,
            text=True,
            errors="surrogateescape",
            **(options or {}),
        )
        self.assertEqual(result.returncode, code, f"{words}: {result.stdout}{result.stderr}")
        return result

    def carry(self, *words, **more):
        return self.hearth("carry", *words, **more)

    def capture(self, *words, **more):
        return json.loads(self.carry("capture", "--json", self.tree, *words, **more).stdout)

    def captured(self, *words, **more):
        """A small tree, captured and gone. What it was."""
        self.small_tree()
        before = snapshot(self.tree)
        self.capture(*words, **more)
        shutil.rmtree(self.tree)
        return before

    def expect_restored(self, before, *words, **more):
        shutil.rmtree(self.tree, ignore_errors=True)
        self.carry("restore", *(words or [self.tree]), **more)
        self.assertEqual(snapshot(self.tree), before)

    def key(self, name):
        """A new key, and the file of its public part."""
        write(self.path(name + ".pub"), self.hearth("keygen", self.path(name + ".key")).stdout.encode())
        return self.path(name + ".key"), self.path(name + ".pub")

    def held(self, path):
        """A lock, held until the test ends or this is closed."""
        holder = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        self.addCleanup(os.close, holder)
        fcntl.flock(holder, fcntl.LOCK_EX)
        return holder

    def python_with(self, *packages):
        """The environment in which the first python on PATH has these packages installed."""
        folder = self.path("venv", "lib", "python3.11", "site-packages")
        shutil.rmtree(folder, ignore_errors=True)
        for package in packages:
            os.makedirs(os.path.join(folder, package))
        for name in ("python", "python3"):
            write(self.path("venv", "bin", name), b"#!/bin/sh\n", mode=0o755)
        return {"PATH": self.path("venv", "bin") + ":" + os.environ["PATH"]}

    def small_tree(self):
        write(os.path.join(self.tree, "ab", "kernel.cubin"), noise(5000), when=981173106123456789, mode=0o755)
        write(os.path.join(self.tree, "ab", "kernel.json"), b"{}", when=1)
        write(os.path.join(self.tree, "cd", "large"), noise(9_000_000))
        write(os.path.join(self.tree, "cd", "same"), noise(5000))
        write(os.path.join(self.tree, "empty"), when=1_700_000_000_000_000_001)
        os.mkdir(os.path.join(self.tree, "hollow"))
        os.symlink("../ab/kernel.json", os.path.join(self.tree, "cd", "link"))


class Restoring(CarryTest):
    def test_a_directory_comes_back_as_it_was(self):
        self.small_tree()
        before = snapshot(self.tree)
        captured = self.capture()
        self.assertEqual((captured["files"], captured["changed"], captured["left_out"]), (6, True, []))
        shutil.rmtree(self.tree)
        said = json.loads(self.carry("restore", "--json", self.tree).stdout)
        self.assertEqual((said["files"], said["same"]), (6, 0))
        self.assertEqual(snapshot(self.tree), before)
        self.carry("diff", self.tree)

    def test_what_else_is_in_the_directory_stays_and_what_differs_is_replaced(self):
        self.small_tree()
        folder = os.path.join(self.tree, "hollow")
        os.chmod(folder, 0o710)
        before = snapshot(self.tree)
        self.capture()
        os.chmod(folder, 0o777)
        write(os.path.join(self.tree, "ab", "kernel.json"), b"[]")
        write(os.path.join(self.tree, "ab", "other"), b"mine")
        os.utime(os.path.join(self.tree, "empty"))
        os.remove(os.path.join(self.tree, "cd", "large"))
        difference = json.loads(self.carry("diff", "--json", self.tree, code=1).stdout)
        self.assertEqual(difference["added"], ["ab/other"])
        self.assertEqual(difference["gone"], ["cd/large"])
        self.assertEqual(
            difference["changed"],
            [
                {"path": "ab/kernel.json", "what": ["content", "time"]},
                {"path": "empty", "what": ["time"]},
                {"path": "hollow", "what": ["mode"]},
            ],
        )
        self.carry("restore", self.tree)
        after = snapshot(self.tree)
        self.assertEqual(after.pop("ab/other")[2], b"mine")
        self.assertEqual(after, before)
        os.remove(os.path.join(self.tree, "ab", "other"))
        self.carry("diff", self.tree)

    def test_a_file_with_another_name_elsewhere_is_replaced_and_not_changed_through_it(self):
        outside = self.path("outside")
        write(os.path.join(self.tree, "kernel"), b"kernel", when=1000, mode=0o600)
        self.capture()
        os.link(os.path.join(self.tree, "kernel"), outside)
        os.chmod(outside, 0o644)
        os.utime(outside, ns=(2000, 2000))
        self.carry("restore", self.tree)
        self.assertEqual((os.stat(outside).st_mtime_ns, os.stat(outside).st_mode & 0o777), (2000, 0o644))
        self.assertEqual(snapshot(self.tree)["kernel"], (0o100600, 1000, b"kernel"))

    def test_a_mode_that_cannot_be_set_is_an_error(self):
        if os.geteuid() != 0 or shutil.which("chattr") is None:
            self.skipTest("Only root can make a file that cannot be changed.")
        path = os.path.join(self.tree, "kernel")
        write(path, b"kernel", when=1000)
        self.capture()
        os.utime(path, ns=(2000, 2000))
        if subprocess.run(["chattr", "+i", path], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("This file system has no files that cannot be changed.")
        try:
            said = self.carry("restore", self.tree, code=3).stderr
        finally:
            subprocess.run(["chattr", "-i", path], check=True)
        self.assertIn('"kernel" in', said)
        self.assertIn("cannot be given its mode and time", said)

    def test_a_time_that_nanoseconds_cannot_say_is_said(self):
        write(os.path.join(self.tree, "old"), b"old", when=-1)
        write(os.path.join(self.tree, "late"), b"late")
        os.utime(os.path.join(self.tree, "late"), (2**33 + 2**31, 2**33 + 2**31))
        if os.stat(os.path.join(self.tree, "late")).st_mtime < 2**33:
            self.skipTest("This file system has no such times.")
        self.assertEqual(
            self.capture()["left_out"], [{"path": "late", "why": "has a time before 1677 or after 2262"}]
        )
        shutil.rmtree(self.tree)
        self.carry("restore", self.tree)
        self.assertEqual(snapshot(self.tree)["old"][1:], (-1, b"old"))

    def test_what_lies_below_a_mount_is_restored_too(self):
        write(os.path.join(self.tree, "mount", "kernel"), b"kernel", when=1000, mode=0o640)
        write(os.path.join(self.tree, "mount", "deep", "other"), noise(200_000), when=2000)
        os.symlink("deep/other", os.path.join(self.tree, "mount", "link"))
        os.chmod(os.path.join(self.tree, "mount", "deep"), 0o750)
        before = snapshot(self.tree)
        self.capture()
        shutil.rmtree(self.tree)
        os.makedirs(os.path.join(self.tree, "mount"))
        script = (
            'mount -t tmpfs -o size=4m,mode=755 none "$1/mount" || exit 77; echo old > "$1/mount/kernel"; '
            'echo half > "$1/mount/.hearth-carry.tmp"; "$2" carry restore "$1" || exit; '
            'cp -a "$1/mount/." "$3"; exec "$2" carry diff "$1"'
        )
        seen = self.path("seen")
        os.makedirs(os.path.join(seen, "mount"))
        words = ["unshare", "-m", "sh", "-c", script, "sh", self.tree, _COMMAND, os.path.join(seen, "mount")]
        result = subprocess.run(words, env=self.environment(), capture_output=True, text=True, timeout=_LONG)
        if result.returncode == 77 or "unshare" in result.stderr:
            self.skipTest("No file system can be mounted here.")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(snapshot(seen), before)

    def test_a_second_capture_stores_and_sends_only_what_has_changed(self):
        for number in range(400):
            write(os.path.join(self.tree, f"{number:03}", "kernel.ptx"), noise(3000, number))
        first = self.capture()
        self.assertEqual(self.capture()["changed"], False)
        write(os.path.join(self.tree, "200", "another.ptx"), noise(3000, 1000))
        second = self.capture()
        self.assertTrue(second["changed"])
        self.assertLess(second["new_bytes"], first["new_bytes"] / 3)
        self.assertLessEqual(second["new_packs"], 2)

    def test_what_is_gone_from_the_cache_is_said_before_anything_is_written(self):
        self.small_tree()
        self.capture()
        rows = [json.loads(line) for line in self.hearth("ls", "--json").stdout.splitlines()]
        contents = [row["key"] for row in rows if row["label"].endswith("(contents)") and row["bytes"] > 1_000_000]
        self.hearth("rm", contents[0])
        shutil.rmtree(self.tree)
        said = self.carry("restore", self.tree, code=3).stderr
        self.assertIn('are gone from the cache, such as "cd/large"', said)
        self.assertFalse(os.path.exists(self.tree))

    def test_a_cache_that_is_too_small_says_so_and_keeps_the_capture_before(self):
        write(os.path.join(self.tree, "first"), b"first")
        self.capture()
        write(os.path.join(self.tree, "large"), noise(3_000_000))
        said = self.carry("capture", self.tree, code=3, HEARTH_MAX_BYTES="4M").stderr
        self.assertIn("more than half of the 4 MiB that the cache may take. Raise HEARTH_MAX_BYTES", said)
        shutil.rmtree(self.tree)
        self.carry("restore", self.tree)
        self.assertEqual(list(snapshot(self.tree)), ["first"])

    def test_nothing_to_restore_is_said(self):
        self.assertIn("There is no capture of", self.carry("restore", self.tree, code=1).stderr)
        self.assertIn("cannot be opened", self.carry("capture", self.tree, code=3).stderr)
        self.assertIn("Did you mean triton?", self.carry("restore", "tritn", code=2).stderr)
        self.assertIn("NUMBA_CACHE_DIR", self.carry("restore", "numba", code=3, NUMBA_CACHE_DIR="").stderr)

    def test_odd_names_come_back_and_are_printed_safely(self):
        for name in (b"new\nline", b"\xff\xfe", b"\x1b[31m", "ü".encode(), b"-o"):
            write(os.path.join(os.fsencode(self.tree), name), name)
        before = snapshot(self.tree)
        self.capture()
        self.expect_restored(before)
        shutil.rmtree(self.tree)
        os.mkdir(self.tree)
        said = self.carry("diff", self.tree, code=1).stdout
        self.assertIn("gone     new\\nline\n", said)
        self.assertNotIn("\x1b", said)


class Identity(CarryTest):
    def test_captures_for_two_targets_live_side_by_side_and_are_refused_for_each_other(self):
        before = self.captured("--target", "sm_80")
        said = self.carry("restore", self.tree, "--target", "sm_90", code=3).stderr
        self.assertIn('target is "sm_80" there and "sm_90" here', said)
        self.assertFalse(os.path.exists(self.tree))
        self.expect_restored(before, self.tree, "--target", "sm_90", "--force")
        write(os.path.join(self.tree, "kernel"), b"of sm_90")
        after = snapshot(self.tree)
        self.capture("--target", "sm_90")
        self.expect_restored(before, self.tree, "--target", "sm_80")
        self.expect_restored(after, self.tree, "--target", "sm_90")

    def test_versions_are_those_of_the_programs_own_python(self):
        self.small_tree()
        words = ["triton", "--program", self.path("venv", "bin", "python")]
        self.python_with("triton-3.8.0.dist-info")
        self.carry("capture", *words, TRITON_CACHE_DIR=self.tree)
        self.python_with("triton-3.9.0.dist-info")
        said = self.carry("restore", *words, code=3, TRITON_CACHE_DIR=self.tree).stderr
        self.assertIn('triton is "3.8.0 (python3.11)" there and "3.9.0 (python3.11)" here', said)

    def test_a_version_that_is_not_known_equals_no_other(self):
        self.small_tree()
        own = {"TRITON_CACHE_DIR": self.tree}
        words = ["triton", "--program", self.path("venv", "bin", "python")]
        for packages in ((), ("triton-3.8.0.dist-info", "triton-3.9.0.dist-info")):
            nothing_tells = self.python_with(*packages)
            self.carry("capture", *words, **own, **nothing_tells)
            said = self.carry("restore", *words, code=3, **own, **nothing_tells).stderr
            self.assertIn("its version is not known (the same --identity at capture and restore can stand", said)
            self.assertIn("--force takes it all the same", said)
            self.carry("restore", *words, "--force", **own, **nothing_tells)
        # A machine that has the cache and not the tool, as while an image is built.
        self.carry("capture", *words, "--identity", "image-1", **own, **self.python_with("triton-3.9.0.dist-info"))
        nothing_tells = self.python_with()
        self.assertIn("triton is", self.carry("restore", *words, code=3, **own, **nothing_tells).stderr)
        self.carry("restore", *words, "--identity", "image-2", code=3, **own, **nothing_tells)
        self.carry("restore", *words, "--identity", "image-1", **own, **nothing_tells)
        # Two versions that are known are two, whoever vouches.
        newer = self.python_with("triton-4.0.0.dist-info")
        self.carry("restore", *words, "--identity", "image-1", code=3, **own, **newer)

    def test_packages_are_known_by_other_names_and_ways_of_installing(self):
        self.small_tree()
        for package, version in [
            ("pytorch_triton-3.9.0+git1.dist-info", "3.9.0+git1 (python3.11)"),
            ("triton-3.9.0-py3.11-linux-x86_64.egg-info", "3.9.0 (python3.11)"),
            ("triton-3.9.egg-info", "3.9 (python3.11)"),
        ]:
            own = {"TRITON_CACHE_DIR": self.tree, **self.python_with(package)}
            said = json.loads(self.carry("capture", "--json", "triton", **own).stdout)
            self.assertEqual(said["identity"]["triton"], version)
            self.carry("restore", "triton", **own)

    def test_another_directory_and_a_users_own_identity_count_too(self):
        self.small_tree()
        self.carry("capture", "triton", "--identity", "image-1", TRITON_CACHE_DIR=self.tree)
        elsewhere = self.path("elsewhere")
        said = self.carry("restore", "triton", "--identity", "image-2", code=3, TRITON_CACHE_DIR=elsewhere).stderr
        self.assertIn("the directory is", said)
        self.assertIn('identity is "image-1" there and "image-2" here', said)
        self.assertFalse(os.path.exists(elsewhere))


class BeingWritten(CarryTest):
    def test_a_file_that_somebody_writes_is_left_out_until_it_is_whole(self):
        self.small_tree()
        path = os.path.join(self.tree, "half.so")
        with open(path, "wb") as file:
            file.write(b"half")
            file.flush()
            with open(path, "rb") as reader:
                try:
                    fcntl.fcntl(reader, _LEASE, fcntl.F_RDLCK)
                    self.skipTest("This file system grants leases on files that are being written.")
                except BlockingIOError:
                    pass
                except OSError as error:
                    self.skipTest(f"This file system grants no leases: {error}")
            self.assertEqual(self.capture()["left_out"], [{"path": "half.so", "why": "is being written"}])
            file.write(b" and whole")
        self.assertEqual(self.capture()["left_out"], [])
        self.expect_restored(snapshot(self.tree))

    def test_files_that_change_all_the_time_are_never_torn(self):
        # Each write replaces the whole content by another byte: a torn capture would hold two kinds.
        script = (
            "import os, sys\n"
            "while True:\n"
            "  for byte in range(256):\n"
            "    with open(sys.argv[1] + '/f', 'r+b', buffering=0) as file:\n"
            "      for _ in range(64): file.write(bytes([byte]) * 1024)\n"
        )
        write(os.path.join(self.tree, "f"), bytes(65536))
        write(os.path.join(self.tree, "calm"), b"calm")
        writer = subprocess.Popen([sys.executable, "-c", script, self.tree])
        try:
            for attempt in range(5):
                self.capture("--identity", str(attempt))
        finally:
            writer.kill()
            writer.wait()
        for attempt in range(5):
            shutil.rmtree(self.tree)
            self.carry("restore", self.tree, "--identity", str(attempt))
            found = snapshot(self.tree)
            self.assertEqual(found["calm"][2], b"calm")
            if "f" in found:
                self.assertEqual(len(set(found["f"][2])), 1)

    def test_locks_temporaries_and_what_is_no_file_stay_behind(self):
        self.small_tree()
        for name in ("lock", "a.lock", "b.tmp", "tmp.pid_1_x/half"):
            write(os.path.join(self.tree, "ab", name), b"x")
        os.mkfifo(os.path.join(self.tree, "fifo"))
        os.symlink("/etc/passwd", os.path.join(self.tree, "out"))
        os.symlink("cd/../../out", os.path.join(self.tree, "winding"))
        captured = self.capture()
        # Locks come last: of many only the first are shown.
        passing = ["ab/a.lock", "ab/b.tmp", "ab/lock", "ab/tmp.pid_1_x"]
        self.assertEqual([one["path"] for one in captured["left_out"]], ["fifo", "out", "winding", *passing])
        self.assertEqual(captured["left_out"][-1]["why"], "is a lock or a temporary file")
        self.assertEqual(captured["files"], 6)

    def test_folders_that_are_named_like_locks_are_captured(self):
        for name in ("lock", "poetry.lock", "results.tmp"):
            write(os.path.join(self.tree, name, "kernel"), name.encode())
        self.assertEqual(self.capture()["left_out"], [])
        self.expect_restored(snapshot(self.tree))

    def test_a_cache_of_hearth_in_the_directory_is_left_out(self):
        self.small_tree()
        self.cache = os.path.join(self.tree, "hearth")
        self.hearth("put", "00" * 32, os.path.join(self.tree, "empty"))
        for _ in range(2):
            captured = self.capture()
            self.assertEqual(captured["left_out"], [{"path": "hearth/v1", "why": "is a cache of Hearth"}])
            self.assertEqual(captured["files"], 6)
        self.assertFalse(captured["changed"])


class OtherUsers(CarryTest):
    """In /tmp, where some tools have their directories, anybody can make them first."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("Only root can make files of another user.")
        self.small_tree()

    def give_away(self, *path):
        os.chown(os.path.join(self.tree, *path), 12345, 12345)

    def test_a_directory_of_another_user_is_neither_captured_nor_restored_into(self):
        self.capture()
        self.give_away()
        os.remove(os.path.join(self.tree, "empty"))
        for part in ("capture", "restore"):
            said = self.carry(part, self.tree, code=3).stderr
            self.assertIn("belongs to another user (12345), who may have put anything there", said)
        self.assertFalse(os.path.exists(os.path.join(self.tree, "empty")))

    def test_files_and_folders_of_another_user_are_left_out_and_said(self):
        self.give_away("ab")
        self.give_away("empty")
        captured = self.capture()
        why = "belongs to another user"
        self.assertEqual(captured["left_out"], [{"path": "empty", "why": why}, {"path": "ab", "why": why}])
        self.assertEqual(captured["files"], 3)

    def test_a_restore_writes_into_no_folder_of_another_user_and_leaves_none_of_his_files(self):
        self.capture()
        self.give_away("empty")
        self.carry("restore", self.tree)
        self.assertEqual(os.stat(os.path.join(self.tree, "empty")).st_uid, 0)
        self.give_away("ab")
        os.remove(os.path.join(self.tree, "ab", "kernel.json"))
        os.remove(os.path.join(self.tree, "empty"))
        self.assertIn('"ab" in the directory belongs to another', self.carry("restore", self.tree, code=3).stderr)
        self.assertEqual(sorted(os.listdir(self.tree)), [".hearth-unsigned", "ab", "cd", "hollow"])


class Links(CarryTest):
    """Of the way to a directory only root and the user himself may choose the links. The directory is none."""

    def setUp(self):
        super().setUp()
        write(self.path("home", ".ssh", "id"), b"private")
        self.shared = self.path("tmp")
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o1777)
        self.own = {"TMPDIR": self.shared, "USER": "me", "LOGNAME": "me", "CUTE_DSL_CACHE_DIR": ""}
        self.place = os.path.join(self.shared, "me", "cutlass_python_cache")

    def link(self, path, target, owner=None):
        os.symlink(target, path)
        if owner is not None:
            os.lchown(path, owner, owner)

    def refuse(self, why, *words, **environment):
        """Neither way is anything read or written."""
        before = snapshot(self.path("home"))
        for part in ("capture", "restore"):
            said = self.carry(part, *words, code=3, **environment).stderr
            self.assertIn(why, said)
            self.assertEqual(said.count("\n"), 1, said)
        self.assertEqual(snapshot(self.path("home")), before)
        self.assertNotIn("private", self.hearth("ls").stdout)

    def capture_of_a_stranger(self, *words, **environment):
        """With a file that would be an authorized key, and then the directory goes."""
        write(os.path.join(self.place, "authorized_keys"), b"a stranger's")
        self.carry("capture", *words, **environment)
        shutil.rmtree(os.path.join(self.shared, "me"))

    def test_a_link_in_the_place_of_a_directory_is_not_followed(self):
        words = ["cute", "--identity", "image"]
        for owner in (12345, os.geteuid()):
            if os.geteuid() != 0 and owner == 12345:
                continue  # only root can make links of another user
            self.capture_of_a_stranger(*words, **self.own)
            os.mkdir(os.path.join(self.shared, "me"))
            self.link(self.place, self.path("home", ".ssh"), owner=owner)
            os.chown(os.path.join(self.shared, "me"), owner, owner)
            self.refuse("is a link", *words, **self.own)
            shutil.rmtree(os.path.join(self.shared, "me"))

    def test_a_neighbours_link_on_the_way_to_a_directory_is_not_followed(self):
        if os.geteuid() != 0:
            self.skipTest("Only root can make links of another user.")
        self.place = os.path.join(self.shared, "me", ".ssh")
        self.capture_of_a_stranger(self.place)
        self.link(os.path.join(self.shared, "me"), self.path("home"), owner=12345)
        self.refuse("link of another user (12345)", self.place)
        # Nor one of the user's own that others can put another in the place of.
        os.remove(os.path.join(self.shared, "me"))
        os.chmod(self.shared, 0o777)
        self.link(os.path.join(self.shared, "me"), self.path("home"))
        self.refuse("others may change", self.place)

    def test_the_users_own_links_on_the_way_are_followed(self):
        os.makedirs(self.path("disk", "caches"))
        os.chmod(self.path("home"), 0o775)  # by umask 002, for a group of the user's own
        self.link(self.path("home", ".cache"), "../scratch/caches")
        self.link(self.path("scratch"), self.path("scratch-of-today"))
        self.link(self.path("scratch-of-today"), "disk/../disk")
        write(self.path("disk", "caches", "vllm", "graph"), b"graph")
        self.carry("capture", "vllm", "--identity", "image")
        shutil.rmtree(self.path("disk", "caches", "vllm"))
        self.carry("restore", "vllm", "--identity", "image")
        self.assertEqual(snapshot(self.path("disk", "caches"))["vllm/graph"][2], b"graph")
        os.remove(self.path("scratch"))
        self.link(self.path("scratch"), "scratch")
        self.assertIn("Too many levels", self.carry("restore", "vllm", "--identity", "image", code=3).stderr)

    def test_where_all_may_write_a_directory_is_the_users_own_and_only_he_may_write_it(self):
        self.capture_of_a_stranger(self.place)
        os.makedirs(self.place)
        for mode in (0o777, 0o775, 0o757):
            os.chmod(self.place, mode)
            self.refuse("chmod go-w", self.place)
        os.chmod(self.place, 0o755)
        self.carry("restore", self.place)
        # Nor may all write it where they may not write around it.
        self.small_tree()
        os.chmod(self.tree, 0o757)
        self.assertIn("chmod go-w", self.carry("capture", self.tree, code=3).stderr)

    def test_a_strangers_capture_of_what_is_there_opens_nothing_to_him_and_leaves_its_mark(self):
        kernel, folder = os.path.join(self.tree, "in", "kernel"), os.path.join(self.tree, "in")
        write(kernel, b"known")
        os.chmod(kernel, 0o666)
        os.chmod(folder, 0o777)
        self.capture()
        os.chmod(kernel, 0o644)
        os.chmod(folder, 0o755)
        os.utime(kernel, (1, 1))
        self.carry("restore", self.tree)
        self.assertNotEqual(os.stat(kernel).st_mtime, 1)
        for path in (kernel, folder):
            self.assertEqual(os.stat(path).st_mode & 0o022, 0)
        self.assertTrue(os.path.exists(os.path.join(self.tree, ".hearth-unsigned")))

    def test_what_a_killed_restore_left_is_captured_with_no_directory_around_it(self):
        write(os.path.join(self.tree, "in", ".hearth-carry", "kernel"), b"not yet marked")
        write(os.path.join(self.tree, "kernel"), b"kernel")
        self.capture()
        shutil.rmtree(self.tree)
        self.carry("restore", self.tree)
        self.assertEqual(sorted(snapshot(self.tree)), ["in", "kernel"])

    def test_what_a_restore_makes_nobody_else_can_write(self):
        self.capture_of_a_stranger(self.place)
        self.carry("restore", self.place, options={"umask": 0})
        for folder in (self.place, os.path.dirname(self.place)):
            self.assertEqual(os.stat(folder).st_mode & 0o022, 0)

    def test_a_directory_that_is_swapped_for_a_link_while_a_restore_waits_changes_nothing_elsewhere(self):
        write(os.path.join(self.tree, "kernel"), b"kernel")
        self.capture()
        os.remove(os.path.join(self.tree, "kernel"))
        write(self.path("home", ".hearth-carry", "precious"), b"precious")
        before = snapshot(self.path("home"))
        holder = self.held(os.path.join(self.tree, _LOCK))
        words = [_COMMAND, "carry", "restore", self.tree]
        restore = subprocess.Popen(words, env=self.environment(), stdout=subprocess.DEVNULL)
        self.addCleanup(restore.wait)
        self.addCleanup(restore.kill)

        def has_opened():
            folder = f"/proc/{restore.pid}/fd"
            return os.path.join(self.tree, _LOCK) in [os.readlink(os.path.join(folder, one)) for one in os.listdir(folder)]

        eventually("the restore has opened its lock", has_opened)
        os.rename(self.tree, self.path("moved"))
        self.link(self.tree, self.path("home"))
        fcntl.flock(holder, fcntl.LOCK_UN)
        self.assertEqual(restore.wait(_LONG), 0)
        self.assertEqual(snapshot(self.path("home")), before)
        self.assertEqual(snapshot(self.path("moved"))["kernel"][2], b"kernel")


class Bundles(CarryTest):
    def test_a_signed_bundle_restores_where_its_key_is_trusted_and_nowhere_else(self):
        (key, public), (_, other) = self.key("build"), self.key("other")
        before = self.captured("--bundle", "caches.bundle", "--sign-with", key)
        shutil.rmtree(self.cache)
        demand = {"HEARTH_DEMAND_SIGNATURES": "bundles"}
        words = ["restore", self.tree, "--bundle", "caches.bundle"]
        said = self.carry(*words, code=3, HEARTH_TRUSTED_KEYS=other, **demand).stderr
        self.assertIn("not trusted", said)
        self.assertFalse(os.path.exists(self.tree))
        self.expect_restored(before, *words[1:], HEARTH_TRUSTED_KEYS=public, **demand)
        # It serves from among the configured bundles too.
        self.expect_restored(before, HEARTH_BUNDLES=self.path("caches.bundle"))

    def test_a_bundle_that_was_altered_restores_nothing(self):
        self.captured("--bundle", "caches.bundle")
        with open(self.path("caches.bundle"), "r+b") as file:
            file.seek(os.path.getsize(self.path("caches.bundle")) // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))
        self.carry("restore", self.tree, "--bundle", "caches.bundle", code=3)
        self.assertFalse(os.path.exists(self.tree))


class Servers(CarryTest):
    def start(self, words, port):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def answers():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        eventually(f"{words[0]} answers", answers)
        return process

    def redis(self):
        if shutil.which("redis-server") is None:
            self.skipTest("redis-server is not installed.")
        port = free_port()
        words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", self.scratch]
        return self.start(words, port), f"redis://127.0.0.1:{port}"

    def nginx(self):
        nginx = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin")
        if nginx is None:
            self.skipTest("nginx is not installed.")
        port = free_port()
        os.makedirs(self.path("nginx", "files"))
        os.chmod(self.scratch, 0o755)
        write(
            self.path("nginx", "nginx.conf"),
            f"""daemon off; master_process off; pid {self.path("nginx", "pid")};
            error_log {self.path("nginx", "errors")};
            events {{}}
            http {{ access_log off; client_max_body_size 0; client_body_temp_path {self.path("nginx", "body")};
              proxy_temp_path {self.path("nginx", "p")}; fastcgi_temp_path {self.path("nginx", "f")};
              uwsgi_temp_path {self.path("nginx", "u")}; scgi_temp_path {self.path("nginx", "s")};
              server {{ listen 127.0.0.1:{port}; root {self.path("nginx", "files")};
                location / {{ dav_methods PUT DELETE; create_full_put_path on; }} }} }}""".encode(),
        )
        words = [nginx, "-p", self.path("nginx"), "-c", self.path("nginx", "nginx.conf")]
        return self.start(words, port), f"http://127.0.0.1:{port}/"

    def check_push_and_pull(self, address):
        self.small_tree()
        before = snapshot(self.tree)
        self.capture()
        here = {"HEARTH_REMOTE": address}
        there = {"HEARTH_REMOTE": address, "HEARTH_DIR": self.path("there")}
        first = json.loads(self.carry("push", "--json", self.tree, **here).stdout)
        self.assertGreater(first["entries"], 3)
        again = json.loads(self.carry("push", "--json", self.tree, **here).stdout)
        self.assertEqual(again["entries"], 0)
        shutil.rmtree(self.tree)
        self.assertIn("has no capture of", self.carry("pull", self.tree + "x", code=1, **there).stderr)
        self.carry("pull", self.tree, **there)
        self.expect_restored(before, HEARTH_DIR=self.path("there"))
        # A newer capture takes the place of the older one, and only what is new travels.
        write(os.path.join(self.tree, "ab", "kernel.json"), b"newer", when=5)
        self.capture("--push", **here)
        after = snapshot(self.tree)
        shutil.rmtree(self.tree)
        pulled = json.loads(self.carry("pull", "--json", self.tree, **there).stdout)
        self.assertLess(pulled["bytes"], 100_000)
        self.expect_restored(after, HEARTH_DIR=self.path("there"))
        # Another kind of machine is told what there is.
        said = self.carry("pull", self.tree, "--target", "sm_1", code=3, **there).stderr
        self.assertIn("of another kind: target is", said)

    def test_redis_carries_a_directory_from_machine_to_machine(self):
        self.check_push_and_pull(self.redis()[1])

    def test_a_plain_http_server_carries_it_too(self):
        self.check_push_and_pull(self.nginx()[1])

    def test_what_a_server_has_without_a_trusted_signature_is_not_taken(self):
        address = self.redis()[1]
        (key, public), (_, other) = self.key("build"), self.key("other")
        before = self.captured("--push", HEARTH_REMOTE=address, HEARTH_SIGN_WITH=key)
        there = {"HEARTH_REMOTE": address, "HEARTH_DIR": self.path("there"), "HEARTH_DEMAND_SIGNATURES": "remotes"}
        said = self.carry("pull", self.tree, code=3, HEARTH_TRUSTED_KEYS=other, **there).stderr
        self.assertIn("untrusted", said)
        self.carry("pull", self.tree, HEARTH_TRUSTED_KEYS=public, **there)
        self.expect_restored(before, HEARTH_DIR=self.path("there"))

    def test_a_run_restores_before_and_captures_after_through_the_server(self):
        server, address = self.redis()
        script = (
            "import os, sys\n"
            "path = os.environ['TRITON_CACHE_DIR'] + '/kernel/cubin'\n"
            "warm = os.path.exists(path)\n"
            "os.makedirs(os.path.dirname(path), exist_ok=True)\n"
            "open(path, 'a').write('' if warm else 'made')\n"
            "sys.exit(41 if warm else 42)\n"
        )
        own = {"TRITON_CACHE_DIR": self.tree, "HEARTH_REMOTE": address, **self.python_with("triton-3.9.0.dist-info")}
        words = ["run", "--carry", "triton", "--", sys.executable, "-c", script]
        self.hearth(*words, code=42, **own)
        program = ["--program", sys.executable]
        probe = self.environment(HEARTH_DIR=self.path("probe"), **own)
        pull = [_COMMAND, "carry", "pull", "triton", *program]
        eventually(
            "it is captured in the background",
            lambda: subprocess.run(pull, env=probe, capture_output=True).returncode == 0,
        )
        shutil.rmtree(self.tree)
        self.hearth(*words, code=41, HEARTH_DIR=self.path("there"), **own)
        self.assertEqual(snapshot(self.tree)["kernel/cubin"][2], b"made")
        # A server that is gone costs a warning, and not the program.
        server.kill()
        server.wait()
        shutil.rmtree(self.tree)
        result = self.hearth(*words, code=42, HEARTH_DIR=self.path("third"), **own)
        self.assertIn("not pulled from the server", result.stderr)

    def run_with_tree(self, *options, **environment):
        return self.hearth("run", "--carry", self.tree, *options, "--", "true", **environment)

    def named(self, **environment):
        """The capture that this machine would restore."""
        words = [_COMMAND, "carry", "diff", "--json", self.tree, "--program", "true"]
        return json.loads(subprocess.run(words, env=self.environment(**environment), capture_output=True).stdout)["capture"]

    def captures_at_work(self):
        """A run starts its capture before it ends, so after it there is one or will be none. It has the run's words
        at first, and the run's variables all the time."""
        ours = f"HEARTH_DIR={self.cache}\0".encode()
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environment:
                    if ours in environment.read():
                        found.append(pid)
            except OSError:
                continue
        return found

    def wait_for_captures(self):
        eventually("no capture is at work", lambda: not self.captures_at_work())

    def test_a_directory_that_could_not_be_restored_is_not_captured(self):
        address = self.redis()[1]
        self.small_tree()
        folder = next(name for name in sorted(os.listdir(self.tree)) if os.path.isdir(os.path.join(self.tree, name)))
        good = self.capture("--push", "--program", "true", HEARTH_REMOTE=address)["capture"]
        shutil.rmtree(self.tree)
        write(os.path.join(self.tree, folder))  # a file where a folder belongs
        said = self.run_with_tree(HEARTH_REMOTE=address).stderr
        self.assertIn("will not be captured", said)
        self.assertEqual(self.captures_at_work(), [])
        self.assertEqual(self.named(), good)
        self.carry("pull", self.tree, "--program", "true", HEARTH_REMOTE=address, HEARTH_DIR=self.path("there"))
        self.assertEqual(self.named(HEARTH_DIR=self.path("there")), good)

    def test_an_older_capture_of_the_server_does_not_take_the_place_of_a_newer_one(self):
        address = self.redis()[1]
        write(os.path.join(self.tree, "kernel"), b"old")
        self.capture("--push", "--program", "true", HEARTH_REMOTE=address)
        write(os.path.join(self.tree, "kernel"), b"newer")
        newer = self.capture("--program", "true")["capture"]
        shutil.rmtree(self.tree)
        self.run_with_tree(HEARTH_REMOTE=address)
        self.wait_for_captures()
        self.assertEqual(snapshot(self.tree)["kernel"][2], b"newer")
        self.assertEqual(self.named(), newer)
        # And what another has captured later does.
        write(os.path.join(self.tree, "kernel"), b"newest")
        self.capture("--push", "--program", "true", HEARTH_REMOTE=address, HEARTH_DIR=self.path("there"))
        shutil.rmtree(self.tree)
        self.run_with_tree(HEARTH_REMOTE=address)
        self.assertEqual(snapshot(self.tree)["kernel"][2], b"newest")

    def test_a_server_that_never_answers_does_not_keep_what_is_here_from_being_restored(self):
        before = self.captured("--program", "true")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"http://127.0.0.1:{silent.getsockname()[1]}/?timeout=60s&connect-timeout=60s"
            said = self.run_with_tree("--carry-limit", "2s", HEARTH_REMOTE=address).stderr
        self.assertIn("no answer in time", said)
        self.assertEqual(snapshot(self.tree), before)

    def test_another_restore_does_not_hold_up_the_program(self):
        self.captured("--program", "true")
        os.mkdir(self.tree)
        self.held(os.path.join(self.tree, _LOCK))
        said = self.run_with_tree("--carry-limit", "500ms").stderr
        self.assertIn("did not let go of it in time", said)

    def test_who_can_only_read_the_directory_holds_up_no_restore(self):
        before = self.captured("--program", "true")
        os.mkdir(self.tree)
        holder = os.open(self.tree, os.O_RDONLY)
        self.addCleanup(os.close, holder)
        fcntl.flock(holder, fcntl.LOCK_EX)
        self.assertEqual(self.run_with_tree("--carry-limit", "20s").stderr, "")
        self.assertEqual(snapshot(self.tree), before)

    @unittest.skipUnless(os.geteuid() == 0, "only root can make a file of another user")
    def test_a_lock_of_another_user_is_an_error_and_not_waited_for(self):
        self.small_tree()
        self.capture()
        for mode in (0o600, 0o666):
            self.held(os.path.join(self.tree, _LOCK))
            os.chown(os.path.join(self.tree, _LOCK), 65534, 65534)
            os.chmod(os.path.join(self.tree, _LOCK), mode)
            self.assertIn(_LOCK, self.carry("restore", self.tree, code=3).stderr)
            os.remove(os.path.join(self.tree, _LOCK))

    def test_the_directory_of_the_command_line_is_pulled_into_restored_from_and_captured_into(self):
        own = {"HEARTH_REMOTE": self.redis()[1]}
        kernel = os.path.join(self.tree, "kernel")
        script = (
            "import os, sys\n"
            f"if os.path.exists({kernel!r}): sys.exit(41)\n"
            f"os.makedirs({self.tree!r})\n"
            f"open({kernel!r}, 'w').write('made')\n"
        )
        words = ["run", "--carry", self.tree, "--", sys.executable, "-c", script]
        # Its standard error is at its end when the capture, which has it too, is at its own.
        for directory, code in (("one", 0), ("one", 41), ("two", 41)):
            self.assertEqual(self.hearth("--dir", self.path(directory), *words, code=code, **own).stderr, "")
            shutil.rmtree(self.tree)
        self.assertFalse(os.path.exists(self.cache))

    def test_what_goes_wrong_while_a_directory_is_captured_is_shown(self):
        self.small_tree()
        self.assertIn("half of the 4 MiB", self.run_with_tree(HEARTH_MAX_BYTES="4M").stderr)

    def keys(self):
        """Of a node that signs, and of one that takes from the server only what that one has signed."""
        key, public = self.key("sign")
        return {"HEARTH_SIGN_WITH": key}, {"HEARTH_TRUSTED_KEYS": public, "HEARTH_DEMAND_SIGNATURES": "remotes"}

    def poison(self, address):
        """What a stranger can put on a server."""
        write(os.path.join(self.tree, "ab", "kernel"), b"poison")
        own = {"HEARTH_REMOTE": address, "HEARTH_DIR": self.path("stranger")}
        self.capture("--push", "--program", "true", **own)
        shutil.rmtree(self.tree)

    def test_a_node_that_signs_restores_nothing_that_came_unsigned(self):
        address = self.redis()[1]
        self.poison(address)
        signing, trusting = self.keys()
        self.run_with_tree(HEARTH_REMOTE=address, **signing)
        self.assertFalse(os.path.exists(self.tree))
        write(os.path.join(self.tree, "kernel"), b"ours")
        self.carry("capture", self.tree, "--push", "--program", "true", HEARTH_REMOTE=address, **signing)
        there = {"HEARTH_REMOTE": address, "HEARTH_DIR": self.path("there"), **trusting}
        shutil.rmtree(self.tree)
        self.run_with_tree(**there)
        self.assertEqual(list(snapshot(self.tree)), ["kernel"])

    def test_what_was_restored_unsigned_is_never_signed(self):
        address = self.redis()[1]
        self.poison(address)
        signing, trusting = self.keys()
        there = {"HEARTH_REMOTE": address, "HEARTH_DIR": self.path("there"), **trusting}
        self.run_with_tree(HEARTH_REMOTE=address)
        self.wait_for_captures()
        self.assertEqual(snapshot(self.tree)["ab/kernel"][2], b"poison")
        # The same node gets a key. What the tool has made of the poison meanwhile is no better, and neither is a part
        # of the directory or what it is a part of.
        write(os.path.join(self.tree, "ab", "kernel"), b"derived")
        for directory in (self.tree, os.path.join(self.tree, "ab"), self.scratch):
            words = ["capture", directory, "--push", "--program", "true", "--max-bytes", "1G"]
            said = self.carry(*words, code=3, HEARTH_REMOTE=address, **signing).stderr
            self.assertIn("without a trusted signature", said)
            self.assertIn("Remove the directory", said)
        words = ["capture", self.tree, "--program", "true"]
        self.carry(*words, "--bundle", "b", "--sign-with", self.path("sign.key"), code=3)
        self.run_with_tree(HEARTH_REMOTE=address, **signing)
        self.wait_for_captures()
        said = self.carry("pull", self.tree, "--program", "true", code=3, **there).stderr
        self.assertIn("untrusted", said)
        # Without a key it is captured as before, and what its program makes anew is signed.
        self.carry(*words)
        shutil.rmtree(self.tree)
        write(os.path.join(self.tree, "kernel"), b"ours")
        self.carry(*words, "--push", HEARTH_REMOTE=address, **signing)
        self.carry("pull", self.tree, "--program", "true", **there)

    def test_what_was_restored_with_a_trusted_signature_is_signed_again(self):
        address = self.redis()[1]
        signing, _ = self.keys()
        before = self.captured("--push", "--program", "true", HEARTH_REMOTE=address, **signing)
        self.run_with_tree(HEARTH_REMOTE=address, HEARTH_DIR=self.path("there"), **signing)
        self.assertEqual(snapshot(self.tree), before)
        self.carry("capture", self.tree, "--program", "true", HEARTH_DIR=self.path("there"), **signing)


class Running(CarryTest):
    def test_what_fails_is_a_warning_and_a_wrong_name_is_said_at_once(self):
        write(self.path("file"))
        result = self.hearth("run", "--carry", "triton", "--", "sh", "-c", "exit 5", code=5, HEARTH_DIR=self.path("file"))
        self.assertIn("warning: triton is not restored", result.stderr)
        self.assertIn("NUMBA_CACHE_DIR", self.hearth("run", "--carry", "numba", "--", "true", NUMBA_CACHE_DIR="").stderr)
        self.assertIn("There is no tool", self.hearth("run", "--carry", "nonsense", "--", "true", code=2).stderr)

    def test_files_that_are_there_are_kept(self):
        write(os.path.join(self.tree, "kernel"), b"old")
        write(os.path.join(self.tree, "other"), b"other")
        program = sys.executable
        own = {"TRITON_CACHE_DIR": self.tree, **self.python_with("triton-3.9.0.dist-info")}
        self.carry("capture", "triton", "--program", program, **own)
        write(os.path.join(self.tree, "kernel"), b"newer")
        os.remove(os.path.join(self.tree, "other"))
        self.hearth("run", "--carry", "triton", "--", program, "-c", "", **own)
        found = snapshot(self.tree)
        self.assertEqual((found["kernel"][2], found["other"][2]), (b"newer", b"other"))


class Interrupted(CarryTest):
    def test_a_full_disk_leaves_the_directory_as_it_was(self):
        self.captured()
        write(os.path.join(self.tree, "mine"), b"mine")
        before = snapshot(self.tree)
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))}
        said = self.carry("restore", self.tree, code=3, options=limit).stderr
        self.assertIn('"cd/large" cannot be restored', said)
        self.assertEqual(snapshot(self.tree), before)
        self.carry("restore", self.tree)

    def test_a_small_file_system_that_fills_leaves_the_directory_as_it_was(self):
        self.captured()
        os.mkdir(self.tree)
        script = (
            'mount -t tmpfs -o size=4m,mode=755 none "$1" || exit 77; echo mine > "$1/mine"; "$2" carry restore "$1"; '
            'code=$?; find "$1" -mindepth 1 >&2; exit $code'
        )
        words = ["unshare", "-m", "sh", "-c", script, "sh", self.tree, _COMMAND]
        result = subprocess.run(words, env=self.environment(), capture_output=True, text=True, timeout=_LONG)
        if result.returncode not in (0, 3):
            self.skipTest("No file system can be mounted here.")
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("No space left on device", result.stderr)
        self.assertEqual([line for line in result.stderr.splitlines() if line.startswith("/")], [self.tree + "/mine"])

    def test_a_restore_that_is_killed_leaves_whole_files_and_folders_and_can_be_repeated(self):
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        for number in range(300):
            write(os.path.join(self.tree, f"{number:03}", "a"), noise(20_000, number))
            write(os.path.join(self.tree, f"{number:03}", "b"), noise(200, number + 1000))
        before = snapshot(self.tree)
        self.capture()
        staging = os.path.join(self.tree, ".hearth-carry")
        killed = 0
        rounds = 0
        while rounds < 12 or killed == 0:
            rounds += 1
            self.assertLess(rounds, 1000, "none was killed in time")
            shutil.rmtree(self.tree)
            os.mkdir(self.tree)
            process = subprocess.Popen([_COMMAND, "carry", "restore", self.tree], env=self.environment())
            while process.poll() is None and not os.path.exists(staging):
                pass
            until = time.monotonic() + chance.random() * 0.15
            while process.poll() is None and time.monotonic() < until:
                pass
            process.kill()
            killed += process.wait() == -signal.SIGKILL
            shutil.rmtree(staging, ignore_errors=True)
            found = snapshot(self.tree)
            found.pop(_LOCK, None)
            for path, what in found.items():
                self.assertEqual(what, before[path], f"seed {seed}")
                self.assertIn(os.path.join(path.split("/")[0], "b"), found, f"half of a folder, seed {seed}")
        # What a killed one leaves is cleared away by the next.
        write(os.path.join(staging, "half"), b"half")
        self.carry("restore", self.tree)
        self.assertEqual(snapshot(self.tree), before)


def _key(domain, kind, name, value):
    """The key of one field, by the grammar in src/format/request.hpp."""

    def field(kind, name, value):
        digested = len(value) > 128
        head = struct.pack("<BBH", kind, digested, len(name)) + name + struct.pack("<Q", len(value))
        return head + (hashlib.sha256(value).digest() if digested else value)

    encoding = b"hearth request 1\n" + field(1, b"domain", domain) + field(kind, name, value)
    return hashlib.sha256(encoding).hexdigest()


class Archive:
    """A capture by the grammar in tools/hearth/carry/capture.hpp, which anybody could write."""

    def __init__(self, version=1, content=b"content of a stranger", pieces=None, tail=b""):
        self.version = version
        self.content = content
        self.key = bytes.fromhex(_key(b"carry-content", 2, b"content", self.content))
        self.packs = [(self.key, len(self.content))]
        self.pieces = [(self.key, *rest) for rest in pieces or [(0, 0, len(self.content))]]
        self.items = []
        self.tail = tail

    def folder(self, path):
        return self.item(1, path, 0o755)

    def file(self, path, pieces=(0,), mode=0o644):
        return self.item(2, path, mode, struct.pack("<I", len(pieces)) + struct.pack(f"<{len(pieces)}I", *pieces))

    def link(self, path, target):
        return self.item(3, path, 0o777, self.text(target))

    def item(self, kind, path, mode, rest=b""):
        self.items.append(struct.pack("<BHq", kind, mode, 1) + self.text(path) + rest)
        return self

    @staticmethod
    def text(value):
        value = os.fsencode(value)
        return struct.pack("<H", len(value)) + value

    def bytes(self, name, identity):
        out = struct.pack("<I", self.version) + self.text(name) + self.text(name)
        out += struct.pack("<I", len(identity))
        out += b"".join(self.text(what) + self.text(value) for what, value in identity.items())
        out += struct.pack("<I", len(self.packs)) + b"".join(key + struct.pack("<Q", size) for key, size in self.packs)
        out += struct.pack("<I", len(self.pieces))
        out += b"".join(key + struct.pack("<IQQ", *rest) for key, *rest in self.pieces)
        return out + struct.pack("<I", len(self.items)) + b"".join(self.items) + self.tail


class Strangers(CarryTest):
    """Every hostile archive is refused, with a sentence, and nothing is written anywhere."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.tree)
        write(self.path("outside", "precious"), b"precious")
        self.identity = self.capture()["identity"]
        rows = [json.loads(line) for line in self.hearth("ls", "--json").stdout.splitlines()]
        self.references = [row["key"] for row in rows if row["label"].endswith("(reference)")]
        self.assertEqual(len(self.references), 2)

    def put(self, key, data):
        write(self.path("data"), data)
        self.hearth("put", key, self.path("data"))

    def give(self, data, contents=()):
        """What a stranger's server or bundle would have brought into the cache."""
        key = _key(b"carry-capture", 1, b"0", data)
        for content_key, content in contents:
            self.put(content_key, content)
        self.put(key, data)
        for reference in self.references:
            self.put(reference, key.encode())

    def give_archive(self, archive):
        self.give(archive.bytes(self.tree, self.identity), [(archive.key.hex(), archive.content)])

    def world(self):
        found = snapshot(self.scratch)
        return {path: what for path, what in found.items() if path.split("/")[0] not in ("cache", "data")}

    def refuse(self, archive, why, *words):
        with self.subTest(why=why, items=archive.items[:2]):
            self.give_archive(archive)
            before = self.world()
            said = self.carry("restore", self.tree, *words, code=3).stderr
            self.assertTrue(said.startswith("hearth: "), said)
            self.assertEqual(said.count("\n"), 1, said)
            self.assertIn(why, said)
            self.assertEqual(self.world(), before)

    def test_an_honest_archive_of_a_stranger_is_restored(self):
        archive = Archive().folder("a").file("a/f").file("empty", ()).link("l", "a/f").link("to", "a")
        self.give_archive(archive)
        self.carry("restore", self.tree)
        self.assertEqual(snapshot(self.tree)["a/f"][1:], (1, archive.content))
        self.assertEqual(snapshot(self.tree)["l"], ("link", "a/f"))

    def test_what_is_in_an_archive_is_refused_unless_it_is_plain(self):
        for path, why in [
            ("../escaped", "leads out"),
            (self.path("escaped"), "absolute"),
            ("a/../../escaped", "leads out"),
            ("..", "leads out"),
            ("", "is no path"),
            (".", "no plain path"),
            ("a//f", "no plain path"),
            ("a/./f", "no plain path"),
            ("a/", "no plain path"),
            ("x\0y", "zero byte"),
            ("n" * 300, "no plain path"),
            ("a/" * 2500 + "f", "no path"),
            (".hearth-carry", "where restores are prepared"),
            (_LOCK, "where restores are prepared"),
            ("new\nline/../..", "leads out"),
        ]:
            self.refuse(Archive().file(path), why)
        for target in ("/etc/passwd", "..", "../outside", "a/../../outside", "a/../f", "", ".", "a//f", "./f", "x\0y"):
            self.refuse(Archive().folder("a").link("l", target), "is a link to")
        for kind in (0, 4, 6, 255):
            self.refuse(Archive().item(kind, "device", 0o644), "neither a file nor a folder nor a link")
        for mode in (0o4755, 0o2755, 0o1777, 0o100644):
            self.refuse(Archive().file("f", mode=mode), "a mode beyond permissions")
        whole = len(Archive().content)
        for archive, why in [
            (Archive().link("l", "sub").file("l/f"), "lies in no folder of the capture"),
            (Archive().file("f").file("f/f"), "lies in no folder of the capture"),
            (Archive().file("a/f"), "lies in no folder of the capture"),
            (Archive().folder("l").link("l", "../outside").file("l/escaped"), "twice"),
            (Archive().folder("a").link("a/l", "../../outside"), "is a link to"),
            (Archive().file("f").file("f"), "twice"),
            (Archive().file("g").file("f"), "twice or out of order"),
            # Numbers that lead nowhere.
            (Archive().file("f", (1,)), "damaged"),
            (Archive(pieces=[(1, 0, 5)]).file("g"), "damaged"),
            (Archive(pieces=[(0, whole - 1, 5)]).file("g"), "damaged"),
            (Archive(pieces=[(0, 2**64 - 1, 5)]).file("g"), "damaged"),
            (Archive(pieces=[(0, 0, 0)]).file("g"), "damaged"),
            (Archive(tail=b"more").file("f"), "damaged"),
            (Archive(version=2).file("f"), "is of version 2"),
            # A small archive that would unpack to terabytes.
            (Archive(content=bytes(4 << 20)).file("f", (0,) * 100_000), "Allow more with --max-bytes"),
        ]:
            self.refuse(archive, why)
        many = Archive()
        for number in range(10):
            many.file(f"f{number}")
        self.refuse(many, "Allow more with --max-files", "--max-files", "9")
        self.refuse(many, "Allow more with --max-bytes", "--max-bytes", "100B")

    def test_paths_through_links_that_are_there(self):
        os.symlink("../outside", os.path.join(self.tree, "a"))
        self.refuse(Archive().folder("a").file("a/precious"), "a link instead of a folder")
        os.remove(os.path.join(self.tree, "a"))
        os.symlink("../outside/precious", os.path.join(self.tree, "f"))
        self.give_archive(Archive().file("f"))
        self.carry("restore", self.tree)
        self.assertFalse(os.path.islink(os.path.join(self.tree, "f")))
        self.assertEqual(snapshot(self.path("outside"))["precious"][2], b"precious")

    def test_damage(self):
        whole = Archive().folder("a").file("a/f").bytes(self.tree, self.identity)
        for size in range(0, len(whole), 7):
            self.give(whole[:size])
            self.assertIn("damaged", self.carry("restore", self.tree, code=3).stderr)
        for at in range(4, 60, 4):
            self.give(whole[:-at] + b"\xff" * at)
            self.carry("restore", self.tree, code=3)
        self.assertEqual(os.listdir(self.tree), [])

    def test_contents_that_are_not_what_they_are_said_to_be(self):
        archive = Archive().file("f")
        self.give(archive.bytes(self.tree, self.identity), [(archive.key.hex(), b"other text of a liar.")])
        self.assertIn("not what their key says", self.carry("restore", self.tree, code=3).stderr)
        lying = Archive().file("f")
        lying.pieces = [(bytes(32), 0, 0, 5)]
        self.refuse(lying, "not what it says they are")
        self.assertEqual(os.listdir(self.tree), [])


class Ninja(CarryTest):
    def test_ninja_has_nothing_to_do_in_a_tree_that_was_restored(self):
        if shutil.which("ninja") is None or shutil.which("c++") is None:
            self.skipTest("ninja or a C++ compiler is not installed.")
        # As PyTorch builds an extension: sources elsewhere, rules and objects in a folder of the cache.
        write(self.path("source", "part.hpp"), b"int part();\n")
        write(self.path("source", "part.cpp"), b'#include "part.hpp"\nint part() { return 42; }\n')
        write(self.path("source", "main.cpp"), b'#include "part.hpp"\nint main() { return part(); }\n')
        extension = os.path.join(self.tree, "py311_cpu", "extension")
        write(
            os.path.join(extension, "build.ninja"),
            b"rule compile\n  command = c++ -MMD -MF $out.d -c $in -o $out\n  depfile = $out.d\n  deps = gcc\n"
            b"rule link\n  command = c++ $in -o $out\n"
            b"build part.o: compile " + self.path("source", "part.cpp").encode() + b"\n"
            b"build main.o: compile " + self.path("source", "main.cpp").encode() + b"\n"
            b"build program: link main.o part.o\n",
        )

        def ninja():
            done = subprocess.run(["ninja"], cwd=extension, capture_output=True, text=True, timeout=_LONG)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout

        self.assertIn("3/3", ninja())
        self.assertIn("no work to do", ninja())
        before = snapshot(self.tree)
        environment = {"TORCH_EXTENSIONS_DIR": self.tree, **self.python_with("torch-2.9.0.dist-info")}
        self.carry("capture", "torch-extensions", "--bundle", "extensions.bundle", **environment)
        shutil.rmtree(self.tree)
        shutil.rmtree(self.cache)
        self.carry("restore", "torch-extensions", "--bundle", "extensions.bundle", **environment)
        self.assertEqual(snapshot(self.tree), before)
        self.assertIn("no work to do", ninja())
        self.assertEqual(subprocess.run([os.path.join(extension, "program")]).returncode, 42)


_TRITON_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python", "scale_with_triton.py")


class Triton(CarryTest):
    def test_triton_compiles_nothing_with_a_cache_that_was_restored(self):
        if subprocess.run([PYTHON, "-c", "import triton"], capture_output=True).returncode != 0:
            self.skipTest("Triton is not installed.")
        own = {"TRITON_CACHE_DIR": self.tree}

        def run_triton(world, code=0):
            words = [PYTHON, _TRITON_PROGRAM, world]
            done = subprocess.run(words, env=self.environment(**own), capture_output=True, text=True, timeout=200)
            self.assertEqual(done.returncode, code, done.stderr)
            return done.stdout

        cold = run_triton("compiles")
        words = ["triton", "--program", PYTHON]
        self.carry("capture", *words, **own)
        shutil.rmtree(self.tree)
        run_triton("answered", code=1)
        shutil.rmtree(self.tree, ignore_errors=True)
        self.carry("restore", *words, **own)
        self.assertEqual(run_triton("answered"), cold)


if __name__ == "__main__":
    unittest.main(verbosity=2)

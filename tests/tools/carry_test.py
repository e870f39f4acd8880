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
from serving import free_port

_COMMAND = os.environ["HEARTH_COMMAND"]
_LOCK = ".hearth-carry.lock"
_LEASE = 1024  # F_SETLEASE of Linux
_LONG = 60  # seconds that nothing here takes
_TRITON_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python", "scale_with_triton.py")


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

    def at(self, *parts):
        return os.path.join(self.tree, *parts)

    def put(self, name, data=b"", **more):
        """A file of the directory that is carried."""
        write(self.at(name), data, **more)

    def content(self, name):
        return snapshot(self.tree)[name][2]

    def remove_tree(self):
        shutil.rmtree(self.tree, ignore_errors=True)

    def environment(self, **more):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("HEARTH_")}
        kept.update(HEARTH_DIR=self.cache, HOME=self.path("home"), TERM="dumb")
        kept.pop("XDG_CACHE_HOME", None)
        kept.update(more)
        return kept

    def hearth(self, *words, code=0, options=None, **environment):
        result = subprocess.run(
            [_COMMAND, *words], env=self.environment(**environment), cwd=self.scratch, capture_output=True,
            timeout=_LONG, text=True, errors="surrogateescape", **(options or {}),
        )  # fmt: skip
        if code is not None:
            self.assertEqual(result.returncode, code, f"{words}: {result.stdout}{result.stderr}")
        return result

    def carry(self, *words, **more):
        return self.hearth("carry", *words, **more)

    def told(self, *words, **more):
        """What it says as JSON."""
        return json.loads(self.carry(*words, "--json", **more).stdout)

    def capture(self, *words, **more):
        return self.told("capture", self.tree, *words, **more)

    def expect_said(self, said, *words, code=3, **more):
        self.assertIn(said, self.carry(*words, code=code, **more).stderr)

    def world(self):
        """All but the cache, and what goes into it."""
        found = snapshot(self.scratch)
        return {path: what for path, what in found.items() if path.split("/")[0] not in ("cache", "data")}

    def refuse(self, why, *words, **more):
        """With a sentence, and nothing is written anywhere."""
        before = self.world()
        said = self.carry(*words, code=3, **more).stderr
        self.assertTrue(said.startswith("hearth: "), said)
        self.assertEqual(said.count("\n"), 1, said)
        self.assertIn(why, said)
        self.assertEqual(self.world(), before)

    def captured(self, *words, **more):
        """A small tree, captured and gone. What it was."""
        self.small_tree()
        before = snapshot(self.tree)
        self.capture(*words, **more)
        self.remove_tree()
        return before

    def expect_restored(self, before, *words, **more):
        self.remove_tree()
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

    def with_mount(self, folder, script, *words):
        """Runs a script of the shell with a file system of 4 MB in a folder, which is its $1; $2 is the command."""
        script = 'mount -t tmpfs -o size=4m,mode=755 none "$1" || exit 77; ' + script
        words = ["unshare", "-m", "sh", "-c", script, "sh", folder, _COMMAND, *words]
        result = subprocess.run(words, env=self.environment(), capture_output=True, text=True, timeout=_LONG)
        if result.returncode == 77 or "unshare" in result.stderr:
            self.skipTest("No file system can be mounted here.")
        return result

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
        self.put("ab/kernel.cubin", noise(5000), when=981173106123456789, mode=0o755)
        self.put("ab/kernel.json", b"{}", when=1)
        self.put("cd/large", noise(9_000_000))
        self.put("cd/same", noise(5000))
        self.put("empty", when=1_700_000_000_000_000_001)
        os.mkdir(self.at("hollow"))
        os.symlink("../ab/kernel.json", self.at("cd", "link"))


class Restoring(CarryTest):
    def test_a_directory_comes_back_as_it_was(self):
        self.small_tree()
        before = snapshot(self.tree)
        captured = self.capture()
        self.assertEqual((captured["files"], captured["changed"], captured["left_out"]), (6, True, []))
        self.remove_tree()
        said = self.told("restore", self.tree)
        self.assertEqual((said["files"], said["same"]), (6, 0))
        self.assertEqual(snapshot(self.tree), before)
        self.carry("diff", self.tree)

    def test_what_else_is_in_the_directory_stays_and_what_differs_is_replaced(self):
        self.small_tree()
        os.chmod(self.at("hollow"), 0o710)
        before = snapshot(self.tree)
        self.capture()
        os.chmod(self.at("hollow"), 0o777)
        self.put("ab/kernel.json", b"[]")
        self.put("ab/other", b"mine")
        os.utime(self.at("empty"))
        os.remove(self.at("cd", "large"))
        difference = self.told("diff", self.tree, code=1)
        self.assertEqual((difference["added"], difference["gone"]), (["ab/other"], ["cd/large"]))
        changed = [(one["path"], one["what"]) for one in difference["changed"]]
        self.assertEqual(changed, [("ab/kernel.json", ["content", "time"]), ("empty", ["time"]), ("hollow", ["mode"])])
        self.carry("restore", self.tree)
        after = snapshot(self.tree)
        self.assertEqual(after.pop("ab/other")[2], b"mine")
        self.assertEqual(after, before)
        os.remove(self.at("ab", "other"))
        self.carry("diff", self.tree)

    def test_a_file_with_another_name_elsewhere_is_replaced_and_not_changed_through_it(self):
        outside = self.path("outside")
        self.put("kernel", b"kernel", when=1000, mode=0o600)
        self.capture()
        os.link(self.at("kernel"), outside)
        os.chmod(outside, 0o644)
        os.utime(outside, ns=(2000, 2000))
        self.carry("restore", self.tree)
        self.assertEqual((os.stat(outside).st_mtime_ns, os.stat(outside).st_mode & 0o777), (2000, 0o644))
        self.assertEqual(snapshot(self.tree)["kernel"], (0o100600, 1000, b"kernel"))

    def test_a_mode_that_cannot_be_set_is_an_error(self):
        if os.geteuid() != 0 or shutil.which("chattr") is None:
            self.skipTest("Only root can make a file that cannot be changed.")
        path = self.at("kernel")
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
        self.put("old", b"old", when=-1)
        self.put("late", b"late")
        os.utime(self.at("late"), (2**33 + 2**31, 2**33 + 2**31))
        if os.stat(self.at("late")).st_mtime < 2**33:
            self.skipTest("This file system has no such times.")
        why = "has a time before 1677 or after 2262"
        self.assertEqual(self.capture()["left_out"], [{"path": "late", "why": why}])
        self.remove_tree()
        self.carry("restore", self.tree)
        self.assertEqual(snapshot(self.tree)["old"][1:], (-1, b"old"))

    def test_what_lies_below_a_mount_is_restored_too(self):
        self.put("mount/kernel", b"kernel", when=1000, mode=0o640)
        self.put("mount/deep/other", noise(200_000), when=2000)
        os.symlink("deep/other", self.at("mount", "link"))
        os.chmod(self.at("mount", "deep"), 0o750)
        before = snapshot(self.tree)
        self.capture()
        self.remove_tree()
        for folder in (self.at("mount"), self.path("seen", "mount")):
            os.makedirs(folder)
        result = self.with_mount(
            self.at("mount"),
            'echo old > "$1/kernel"; echo half > "$1/.hearth-carry.tmp"; "$2" carry restore "$4" || exit; '
            'cp -a "$1/." "$3"; exec "$2" carry diff "$4"',
            self.path("seen", "mount"),
            self.tree,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(snapshot(self.path("seen")), before)

    def test_a_second_capture_stores_and_sends_only_what_has_changed(self):
        for number in range(400):
            self.put(f"{number:03}/kernel.ptx", noise(3000, number))
        first = self.capture()
        self.assertEqual(self.capture()["changed"], False)
        self.put("200/another.ptx", noise(3000, 1000))
        second = self.capture()
        self.assertTrue(second["changed"])
        self.assertLess(second["new_bytes"], first["new_bytes"] / 3)
        self.assertLessEqual(second["new_packs"], 2)

    def test_what_is_gone_from_the_cache_is_said_before_anything_is_written(self):
        self.captured()
        rows = [json.loads(line) for line in self.hearth("ls", "--json").stdout.splitlines()]
        contents = [row["key"] for row in rows if row["label"].endswith("(contents)") and row["bytes"] > 1_000_000]
        self.hearth("rm", contents[0])
        self.expect_said('are gone from the cache, such as "cd/large"', "restore", self.tree)
        self.assertFalse(os.path.exists(self.tree))

    def test_a_cache_that_is_too_small_says_so_and_keeps_the_capture_before(self):
        self.put("first", b"first")
        self.capture()
        self.put("large", noise(3_000_000))
        why = "more than half of the 4 MiB that the cache may take. Raise HEARTH_MAX_BYTES"
        self.expect_said(why, "capture", self.tree, HEARTH_MAX_BYTES="4M")
        self.remove_tree()
        self.carry("restore", self.tree)
        self.assertEqual(list(snapshot(self.tree)), ["first"])

    def test_nothing_to_restore_is_said(self):
        self.expect_said("There is no capture of", "restore", self.tree, code=1)
        self.expect_said("cannot be opened", "capture", self.tree)
        self.expect_said("Did you mean triton?", "restore", "tritn", code=2)
        self.expect_said("NUMBA_CACHE_DIR", "restore", "numba", NUMBA_CACHE_DIR="")

    def test_odd_names_come_back_and_are_printed_safely(self):
        for name in (b"new\nline", b"\xff\xfe", b"\x1b[31m", "ü".encode(), b"-o"):
            write(os.path.join(os.fsencode(self.tree), name), name)
        before = snapshot(self.tree)
        self.capture()
        self.expect_restored(before)
        self.remove_tree()
        os.mkdir(self.tree)
        said = self.carry("diff", self.tree, code=1).stdout
        self.assertIn("gone     new\\nline\n", said)
        self.assertNotIn("\x1b", said)


class Identity(CarryTest):
    def test_captures_for_two_targets_live_side_by_side_and_are_refused_for_each_other(self):
        before = self.captured("--target", "sm_80")
        self.expect_said('target is "sm_80" there and "sm_90" here', "restore", self.tree, "--target", "sm_90")
        self.assertFalse(os.path.exists(self.tree))
        self.expect_restored(before, self.tree, "--target", "sm_90", "--force")
        self.put("kernel", b"of sm_90")
        after = snapshot(self.tree)
        self.capture("--target", "sm_90")
        self.expect_restored(before, self.tree, "--target", "sm_80")
        self.expect_restored(after, self.tree, "--target", "sm_90")

    def test_a_version_is_that_of_the_programs_own_python_and_one_that_is_not_known_equals_no_other(self):
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
        self.python_with("triton-3.9.0.dist-info")
        self.carry("capture", *words, "--identity", "image-1", **own)
        nothing_tells = self.python_with()
        self.expect_said("triton is", "restore", *words, **own, **nothing_tells)
        self.carry("restore", *words, "--identity", "image-2", code=3, **own, **nothing_tells)
        self.carry("restore", *words, "--identity", "image-1", **own, **nothing_tells)
        # Two versions that are known are two, whoever vouches.
        self.python_with("triton-4.0.0.dist-info")
        why = 'triton is "3.9.0 (python3.11)" there and "4.0.0 (python3.11)" here'
        self.expect_said(why, "restore", *words, "--identity", "image-1", **own)

    def test_packages_are_known_by_other_names_and_ways_of_installing(self):
        self.small_tree()
        for package, version in [
            ("pytorch_triton-3.9.0+git1.dist-info", "3.9.0+git1 (python3.11)"),
            ("triton-3.9.0-py3.11-linux-x86_64.egg-info", "3.9.0 (python3.11)"),
            ("triton-3.9.egg-info", "3.9 (python3.11)"),
        ]:
            own = {"TRITON_CACHE_DIR": self.tree, **self.python_with(package)}
            self.assertEqual(self.told("capture", "triton", **own)["identity"]["triton"], version)
            self.carry("restore", "triton", **own)

    def test_another_directory_and_a_users_own_identity_count_too(self):
        self.small_tree()
        self.carry("capture", "triton", "--identity", "image-1", TRITON_CACHE_DIR=self.tree)
        elsewhere = self.path("elsewhere")
        said = self.carry("restore", "triton", "--identity", "image-2", code=3, TRITON_CACHE_DIR=elsewhere).stderr
        self.assertIn("the directory is", said)
        self.assertIn('identity is "image-1" there and "image-2" here', said)
        self.assertFalse(os.path.exists(elsewhere))

    def test_a_signed_bundle_restores_where_its_key_is_trusted_and_nowhere_else(self):
        (key, public), (_, other) = self.key("build"), self.key("other")
        before = self.captured("--bundle", "caches.bundle", "--sign-with", key)
        shutil.rmtree(self.cache)
        demand = {"HEARTH_DEMAND_SIGNATURES": "bundles"}
        words = [self.tree, "--bundle", "caches.bundle"]
        self.expect_said("not trusted", "restore", *words, HEARTH_TRUSTED_KEYS=other, **demand)
        self.assertFalse(os.path.exists(self.tree))
        self.expect_restored(before, *words, HEARTH_TRUSTED_KEYS=public, **demand)
        # It serves from among the configured bundles too.
        self.expect_restored(before, HEARTH_BUNDLES=self.path("caches.bundle"))


class BeingWritten(CarryTest):
    def test_a_file_that_somebody_writes_is_left_out_until_it_is_whole(self):
        self.small_tree()
        with open(self.at("half.so"), "wb") as file:
            file.write(b"half")
            file.flush()
            with open(self.at("half.so"), "rb") as reader:
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
        self.put("f", bytes(65536))
        self.put("calm", b"calm")
        writer = subprocess.Popen([sys.executable, "-c", script, self.tree])
        try:
            for attempt in range(5):
                self.capture("--identity", str(attempt))
        finally:
            writer.kill()
            writer.wait()
        for attempt in range(5):
            self.remove_tree()
            self.carry("restore", self.tree, "--identity", str(attempt))
            found = snapshot(self.tree)
            self.assertEqual(found["calm"][2], b"calm")
            if "f" in found:
                self.assertEqual(len(set(found["f"][2])), 1)

    def test_locks_temporaries_and_what_is_no_file_stay_behind(self):
        self.small_tree()
        for name in (".ninja_lock", "lock", "a.lock", "b.tmp", "tmp.pid_1_x/half"):
            self.put("ab/" + name, b"x")
        for folder in ("lock", "poetry.lock", "results.tmp"):  # are only named like them
            self.put(folder + "/kernel", folder.encode())
        os.mkfifo(self.at("fifo"))
        os.symlink("/etc/passwd", self.at("out"))
        os.symlink("cd/../../out", self.at("winding"))
        captured = self.capture()
        # Locks come last: of many only the first are shown.
        passing = ["ab/.ninja_lock", "ab/a.lock", "ab/b.tmp", "ab/lock", "ab/tmp.pid_1_x"]
        self.assertEqual([one["path"] for one in captured["left_out"]], ["fifo", "out", "winding", *passing])
        self.assertEqual(captured["left_out"][-1]["why"], "is a lock or a temporary file")
        self.assertEqual(captured["files"], 9)

    def test_a_cache_of_hearth_in_the_directory_is_left_out(self):
        self.small_tree()
        self.cache = self.at("hearth")
        self.hearth("put", "00" * 32, self.at("empty"))
        for _ in range(2):
            captured = self.capture()
            self.assertEqual(captured["left_out"], [{"path": "hearth/v1", "why": "is a cache of Hearth"}])
            self.assertEqual(captured["files"], 6)
        self.assertFalse(captured["changed"])


@unittest.skipUnless(os.geteuid() == 0, "Only root can make files of another user.")
class OtherUsers(CarryTest):
    """In /tmp, where some tools have their directories, anybody can make them first."""

    def setUp(self):
        super().setUp()
        self.small_tree()

    def give_away(self, *path):
        os.chown(self.at(*path), 12345, 12345)

    def test_a_directory_of_another_user_is_neither_captured_nor_restored_into(self):
        self.capture()
        self.give_away()
        os.remove(self.at("empty"))
        for part in ("capture", "restore"):
            self.refuse("belongs to another user (12345), who may have put anything there", part, self.tree)

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
        self.assertEqual(os.stat(self.at("empty")).st_uid, 0)
        self.give_away("ab")
        os.remove(self.at("ab", "kernel.json"))
        os.remove(self.at("empty"))
        self.expect_said('"ab" in the directory belongs to another', "restore", self.tree)
        self.assertEqual(sorted(os.listdir(self.tree)), [".hearth-unsigned", "ab", "cd", "hollow"])


class Links(CarryTest):
    """Of the way to a directory only root and the user himself may choose the links. The directory is none."""

    def setUp(self):
        super().setUp()
        write(self.path("home", ".ssh", "id"), b"private")
        self.shared = self.path("tmp")
        os.mkdir(self.shared)
        os.chmod(self.shared, 0o1777)
        self.mine = os.path.join(self.shared, "me")
        self.own = {"TMPDIR": self.shared, "USER": "me", "LOGNAME": "me", "CUTE_DSL_CACHE_DIR": ""}
        self.place = os.path.join(self.mine, "cutlass_python_cache")

    def link(self, path, target, owner=None):
        os.symlink(target, path)
        if owner is not None:
            os.lchown(path, owner, owner)

    def refuse_both(self, why, *words, **environment):
        """Neither way is anything read or written."""
        for part in ("capture", "restore"):
            self.refuse(why, part, *words, **environment)
        self.assertNotIn("private", self.hearth("ls").stdout)

    def capture_of_a_stranger(self, *words, **environment):
        """With a file that would be an authorized key, and then the directory goes."""
        write(os.path.join(self.place, "authorized_keys"), b"a stranger's")
        self.carry("capture", *words, **environment)
        shutil.rmtree(self.mine)

    def test_a_link_in_the_place_of_a_directory_is_not_followed(self):
        words = ["cute", "--identity", "image"]
        for owner in (12345, os.geteuid()):
            if os.geteuid() != 0 and owner == 12345:
                continue  # only root can make links of another user
            self.capture_of_a_stranger(*words, **self.own)
            os.mkdir(self.mine)
            self.link(self.place, self.path("home", ".ssh"), owner=owner)
            os.chown(self.mine, owner, owner)
            self.refuse_both("is a link", *words, **self.own)
            shutil.rmtree(self.mine)

    @unittest.skipUnless(os.geteuid() == 0, "Only root can make links of another user.")
    def test_a_neighbours_link_on_the_way_to_a_directory_is_not_followed(self):
        self.place = os.path.join(self.mine, ".ssh")
        self.capture_of_a_stranger(self.place)
        self.link(self.mine, self.path("home"), owner=12345)
        self.refuse_both("link of another user (12345)", self.place)
        # Nor one of the user's own that others can put another in the place of.
        os.remove(self.mine)
        os.chmod(self.shared, 0o777)
        self.link(self.mine, self.path("home"))
        self.refuse_both("others may change", self.place)

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
        self.expect_said("Too many levels", "restore", "vllm", "--identity", "image")

    def test_where_all_may_write_a_directory_is_the_users_own_and_only_he_may_write_it(self):
        self.capture_of_a_stranger(self.place)
        self.carry("restore", self.place, options={"umask": 0})
        for folder in (self.place, self.mine):  # nor does a restore make another
            self.assertEqual(os.stat(folder).st_mode & 0o022, 0)
        for mode in (0o777, 0o775, 0o757):
            os.chmod(self.place, mode)
            self.refuse_both("chmod go-w", self.place)
        os.chmod(self.place, 0o755)
        self.carry("restore", self.place)
        # Nor may all write it where they may not write around it.
        self.small_tree()
        os.chmod(self.tree, 0o757)
        self.expect_said("chmod go-w", "capture", self.tree)

    def test_a_strangers_capture_of_what_is_there_opens_nothing_to_him_and_leaves_its_mark(self):
        kernel, folder = self.at("in", "kernel"), self.at("in")
        write(kernel, b"known", mode=0o666)
        os.chmod(folder, 0o777)
        self.capture()
        os.chmod(kernel, 0o644)
        os.chmod(folder, 0o755)
        os.utime(kernel, (1, 1))
        self.carry("restore", self.tree)
        self.assertNotEqual(os.stat(kernel).st_mtime, 1)
        for path in (kernel, folder):
            self.assertEqual(os.stat(path).st_mode & 0o022, 0)
        self.assertTrue(os.path.exists(self.at(".hearth-unsigned")))

    def test_what_a_killed_restore_left_is_captured_with_no_directory_around_it(self):
        self.put("in/.hearth-carry/kernel", b"not yet marked")
        self.put("kernel", b"kernel")
        self.capture()
        self.remove_tree()
        self.carry("restore", self.tree)
        self.assertEqual(sorted(snapshot(self.tree)), ["in", "kernel"])

    def test_a_directory_that_is_swapped_for_a_link_while_a_restore_waits_changes_nothing_elsewhere(self):
        self.put("kernel", b"kernel")
        self.capture()
        os.remove(self.at("kernel"))
        write(self.path("home", ".hearth-carry", "precious"), b"precious")
        before = snapshot(self.path("home"))
        holder = self.held(self.at(_LOCK))
        words = [_COMMAND, "carry", "restore", self.tree]
        restore = subprocess.Popen(words, env=self.environment(), stdout=subprocess.DEVNULL)
        self.addCleanup(restore.wait)
        self.addCleanup(restore.kill)

        def has_opened():
            folder = f"/proc/{restore.pid}/fd"
            return self.at(_LOCK) in [os.readlink(os.path.join(folder, one)) for one in os.listdir(folder)]

        eventually("the restore has opened its lock", has_opened)
        os.rename(self.tree, self.path("moved"))
        self.link(self.tree, self.path("home"))
        fcntl.flock(holder, fcntl.LOCK_UN)
        self.assertEqual(restore.wait(_LONG), 0)
        self.assertEqual(snapshot(self.path("home")), before)
        self.assertEqual(snapshot(self.path("moved"))["kernel"][2], b"kernel")


class Servers(CarryTest):
    def redis(self):
        if shutil.which("redis-server") is None:
            self.skipTest("redis-server is not installed.")
        port = free_port()
        words = ["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", self.scratch]
        self.server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(self.server.wait)
        self.addCleanup(self.server.kill)

        def answers():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) == 0

        eventually("redis-server answers", answers)
        return f"redis://127.0.0.1:{port}"

    def test_a_server_carries_a_directory_from_machine_to_machine(self):
        self.small_tree()
        before = snapshot(self.tree)
        self.capture()
        here = {"HEARTH_REMOTE": self.redis()}
        there = {**here, "HEARTH_DIR": self.path("there")}
        self.assertGreater(self.told("push", self.tree, **here)["entries"], 3)
        self.assertEqual(self.told("push", self.tree, **here)["entries"], 0)
        self.remove_tree()
        self.expect_said("has no capture of", "pull", self.tree + "x", code=1, **there)
        self.carry("pull", self.tree, **there)
        self.expect_restored(before, HEARTH_DIR=self.path("there"))
        # A newer capture takes the place of the older one, and only what is new travels.
        self.put("ab/kernel.json", b"newer", when=5)
        self.capture("--push", **here)
        after = snapshot(self.tree)
        self.remove_tree()
        self.assertLess(self.told("pull", self.tree, **there)["bytes"], 100_000)
        self.expect_restored(after, HEARTH_DIR=self.path("there"))
        # Another kind of machine is told what there is.
        self.expect_said("of another kind: target is", "pull", self.tree, "--target", "sm_1", **there)

    def run_with_tree(self, *options, **environment):
        return self.hearth("run", "--carry", self.tree, *options, "--", "true", **environment)

    def named(self, **environment):
        """The capture that this machine would restore."""
        return self.told("diff", self.tree, "--program", "true", code=None, **environment)["capture"]

    def captures_at_work(self):
        """A run starts its capture before it ends, so after it there is one or will be none. It has the run's words
        at first, and the run's variables all the time."""
        ours = f"HEARTH_DIR={self.cache}\0".encode()

        def is_ours(pid):
            try:
                with open(f"/proc/{pid}/environ", "rb") as environment:
                    return ours in environment.read()
            except OSError:
                return False

        return [pid for pid in os.listdir("/proc") if pid.isdigit() and is_ours(pid)]

    def wait_for_captures(self):
        eventually("no capture is at work", lambda: not self.captures_at_work())

    def test_a_directory_that_could_not_be_restored_is_not_captured(self):
        address = self.redis()
        self.small_tree()
        good = self.capture("--push", "--program", "true", HEARTH_REMOTE=address)["capture"]
        self.remove_tree()
        self.put("ab")  # a file where a folder belongs
        self.assertIn("will not be captured", self.run_with_tree(HEARTH_REMOTE=address).stderr)
        self.assertEqual(self.captures_at_work(), [])
        self.assertEqual(self.named(), good)
        self.carry("pull", self.tree, "--program", "true", HEARTH_REMOTE=address, HEARTH_DIR=self.path("there"))
        self.assertEqual(self.named(HEARTH_DIR=self.path("there")), good)

    def test_an_older_capture_of_the_server_does_not_take_the_place_of_a_newer_one(self):
        address = self.redis()
        self.put("kernel", b"old")
        self.capture("--push", "--program", "true", HEARTH_REMOTE=address)
        self.put("kernel", b"newer")
        newer = self.capture("--program", "true")["capture"]
        self.remove_tree()
        self.run_with_tree(HEARTH_REMOTE=address)
        self.wait_for_captures()
        self.assertEqual(self.content("kernel"), b"newer")
        self.assertEqual(self.named(), newer)
        # And what another has captured later does.
        self.put("kernel", b"newest")
        self.capture("--push", "--program", "true", HEARTH_REMOTE=address, HEARTH_DIR=self.path("there"))
        self.remove_tree()
        self.run_with_tree(HEARTH_REMOTE=address)
        self.assertEqual(self.content("kernel"), b"newest")

    def test_a_server_that_never_answers_does_not_keep_what_is_here_from_being_restored(self):
        before = self.captured("--program", "true")
        with socket.create_server(("127.0.0.1", 0)) as silent:
            address = f"http://127.0.0.1:{silent.getsockname()[1]}/?timeout=60s&connect-timeout=60s"
            said = self.run_with_tree("--carry-limit", "2s", HEARTH_REMOTE=address).stderr
        self.assertIn("no answer in time", said)
        self.assertEqual(snapshot(self.tree), before)

    def test_another_restore_does_not_hold_up_the_program_and_who_can_only_read_no_restore(self):
        before = self.captured("--program", "true")
        os.mkdir(self.tree)
        lock = self.held(self.at(_LOCK))
        said = self.run_with_tree("--carry-limit", "500ms").stderr
        self.assertIn("did not let go of it in time", said)
        self.wait_for_captures()
        fcntl.flock(lock, fcntl.LOCK_UN)
        os.remove(self.at(_LOCK))
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
            self.held(self.at(_LOCK))
            os.chown(self.at(_LOCK), 65534, 65534)
            os.chmod(self.at(_LOCK), mode)
            self.expect_said(_LOCK, "restore", self.tree)
            os.remove(self.at(_LOCK))

    def test_a_run_restores_before_and_captures_after_through_the_server(self):
        own = {"HEARTH_REMOTE": self.redis()}
        kernel = self.at("kernel")
        script = (
            "import os, sys\n"
            f"if os.path.exists({kernel!r}): sys.exit(41)\n"
            f"os.makedirs({self.tree!r})\n"
            f"open({kernel!r}, 'w').write('made')\n"
            "sys.exit(42)\n"
        )
        words = ["run", "--carry", self.tree, "--", sys.executable, "-c", script]
        # The directory of the command line is pulled into, restored from and captured into. Standard error is at its
        # end when the capture, which has it too, is at its own.
        for directory, code in (("one", 42), ("one", 41), ("two", 41)):
            self.assertEqual(self.hearth("--dir", self.path(directory), *words, code=code, **own).stderr, "")
            self.assertEqual(self.content("kernel"), b"made")
            self.remove_tree()
        self.assertFalse(os.path.exists(self.cache))
        # A server that is gone costs a warning, and not the program.
        self.server.kill()
        self.server.wait()
        said = self.hearth("--dir", self.path("three"), *words, code=42, **own).stderr
        self.assertIn("not pulled from the server", said)

    def test_what_goes_wrong_while_a_directory_is_captured_is_shown(self):
        self.small_tree()
        self.assertIn("half of the 4 MiB", self.run_with_tree(HEARTH_MAX_BYTES="4M").stderr)

    def keys(self):
        """Of a node that signs, and of one that takes from the server only what that one has signed."""
        key, public = self.key("sign")
        return {"HEARTH_SIGN_WITH": key}, {"HEARTH_TRUSTED_KEYS": public, "HEARTH_DEMAND_SIGNATURES": "remotes"}

    def poison(self, **remote):
        """What a stranger can put on a server."""
        self.put("ab/kernel", b"poison")
        self.capture("--push", "--program", "true", HEARTH_DIR=self.path("stranger"), **remote)
        self.remove_tree()

    def test_what_came_unsigned_is_restored_by_no_node_that_signs_and_never_signed(self):
        remote = {"HEARTH_REMOTE": self.redis()}
        self.poison(**remote)
        signing, trusting = self.keys()
        there = {"HEARTH_DIR": self.path("there"), **remote, **trusting}
        self.run_with_tree(**remote, **signing)
        self.assertFalse(os.path.exists(self.tree))
        self.run_with_tree(**remote)
        self.wait_for_captures()
        self.assertEqual(self.content("ab/kernel"), b"poison")
        # The same node gets a key. What the tool has made of the poison meanwhile is no better, and neither is a part
        # of the directory or what it is a part of.
        self.put("ab/kernel", b"derived")
        for directory in (self.tree, self.at("ab"), self.scratch):
            words = ["capture", directory, "--push", "--program", "true", "--max-bytes", "1G"]
            said = self.carry(*words, code=3, **remote, **signing).stderr
            self.assertIn("without a trusted signature", said)
            self.assertIn("Remove the directory", said)
        words = ["capture", self.tree, "--program", "true"]
        self.carry(*words, "--bundle", "b", "--sign-with", self.path("sign.key"), code=3)
        self.run_with_tree(**remote, **signing)
        self.wait_for_captures()
        self.expect_said("untrusted", "pull", self.tree, "--program", "true", **there)
        # Without a key it is captured as before, and what its program makes anew is signed.
        self.carry(*words)
        self.remove_tree()
        self.put("kernel", b"ours")
        self.carry(*words, "--push", **remote, **signing)
        self.remove_tree()
        self.run_with_tree(**there)
        self.assertEqual(list(snapshot(self.tree)), ["kernel"])

    def test_what_was_restored_with_a_trusted_signature_is_signed_again(self):
        address = self.redis()
        signing, _ = self.keys()
        before = self.captured("--push", "--program", "true", HEARTH_REMOTE=address, **signing)
        self.run_with_tree(HEARTH_REMOTE=address, HEARTH_DIR=self.path("there"), **signing)
        self.assertEqual(snapshot(self.tree), before)
        self.carry("capture", self.tree, "--program", "true", HEARTH_DIR=self.path("there"), **signing)


class Running(CarryTest):
    def test_what_fails_is_a_warning_and_a_wrong_name_is_said_at_once(self):
        write(self.path("file"))
        words = ["run", "--carry", "triton", "--", "sh", "-c", "exit 5"]
        said = self.hearth(*words, code=5, HEARTH_DIR=self.path("file")).stderr
        self.assertIn("warning: triton is not restored", said)
        said = self.hearth("run", "--carry", "numba", "--", "true", NUMBA_CACHE_DIR="").stderr
        self.assertIn("NUMBA_CACHE_DIR", said)
        self.assertIn("There is no tool", self.hearth("run", "--carry", "nonsense", "--", "true", code=2).stderr)

    def test_files_that_are_there_are_kept(self):
        self.put("kernel", b"old")
        self.put("other", b"other")
        program = sys.executable
        own = {"TRITON_CACHE_DIR": self.tree, **self.python_with("triton-3.9.0.dist-info")}
        self.carry("capture", "triton", "--program", program, **own)
        self.put("kernel", b"newer")
        os.remove(self.at("other"))
        self.hearth("run", "--carry", "triton", "--", program, "-c", "", **own)
        self.assertEqual((self.content("kernel"), self.content("other")), (b"newer", b"other"))


class Interrupted(CarryTest):
    def test_a_full_disk_leaves_the_directory_as_it_was(self):
        self.captured()
        self.put("mine", b"mine")
        before = snapshot(self.tree)
        limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))}
        self.expect_said('"cd/large" cannot be restored', "restore", self.tree, options=limit)
        self.assertEqual(snapshot(self.tree), before)
        self.carry("restore", self.tree)

    def test_a_small_file_system_that_fills_leaves_the_directory_as_it_was(self):
        self.captured()
        os.mkdir(self.tree)
        script = 'echo mine > "$1/mine"; "$2" carry restore "$1"; code=$?; find "$1" -mindepth 1 >&2; exit $code'
        result = self.with_mount(self.tree, script)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn("No space left on device", result.stderr)
        self.assertEqual([line for line in result.stderr.splitlines() if line.startswith("/")], [self.at("mine")])

    def test_a_restore_that_is_killed_leaves_whole_files_and_folders_and_can_be_repeated(self):
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        for number in range(300):
            self.put(f"{number:03}/a", noise(20_000, number))
            self.put(f"{number:03}/b", noise(200, number + 1000))
        before = snapshot(self.tree)
        self.capture()
        staging = self.at(".hearth-carry")
        killed = 0
        rounds = 0
        while rounds < 12 or killed == 0:
            rounds += 1
            self.assertLess(rounds, 1000, "none was killed in time")
            self.remove_tree()
            os.mkdir(self.tree)
            process = subprocess.Popen([_COMMAND, "carry", "restore", self.tree], env=self.environment())
            eventually("it prepares or is done", lambda: os.path.exists(staging) or process.poll() is not None)
            time.sleep(chance.random() * 0.15)
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

    def store(self, key, data):
        write(self.path("data"), data)
        self.hearth("put", key, self.path("data"))

    def give(self, data):
        """What a stranger's server or bundle would have brought into the cache."""
        key = _key(b"carry-capture", 1, b"0", data)
        self.store(key, data)
        for reference in self.references:
            self.store(reference, key.encode())

    def give_archive(self, archive):
        self.store(archive.key.hex(), archive.content)
        self.give(archive.bytes(self.tree, self.identity))

    def refuse_archive(self, why, archive, *words):
        with self.subTest(why=why, items=archive.items[:2]):
            self.give_archive(archive)
            self.refuse(why, "restore", self.tree, *words)

    def test_an_honest_archive_of_a_stranger_is_restored(self):
        archive = Archive().folder("a").file("a/f").file("empty", ()).link("l", "a/f").link("to", "a")
        self.give_archive(archive)
        self.carry("restore", self.tree)
        self.assertEqual(snapshot(self.tree)["a/f"][1:], (1, archive.content))
        self.assertEqual(snapshot(self.tree)["l"], ("link", "a/f"))

    def test_what_is_in_an_archive_is_refused_unless_it_is_plain(self):
        for why, paths in {
            "leads out": ("../escaped", "a/../../escaped", "..", "new\nline/../.."),
            "absolute": (self.path("escaped"),),
            "is no path": ("",),
            "no plain path": (".", "a//f", "a/./f", "a/", "n" * 300),
            "zero byte": ("x\0y",),
            "no path": ("a/" * 2500 + "f",),
            "where restores are prepared": (".hearth-carry", _LOCK),
        }.items():
            for path in paths:
                self.refuse_archive(why, Archive().file(path))
        for target in ("/etc/passwd", "..", "../outside", "a/../../outside", "a/../f", "", ".", "a//f", "./f", "x\0y"):
            self.refuse_archive("is a link to", Archive().folder("a").link("l", target))
        for kind in (0, 4, 6, 255):
            self.refuse_archive("neither a file nor a folder nor a link", Archive().item(kind, "device", 0o644))
        for mode in (0o4755, 0o2755, 0o1777, 0o100644):
            self.refuse_archive("a mode beyond permissions", Archive().file("f", mode=mode))
        whole = len(Archive().content)
        for pieces in ((1, 0, 5), (0, whole - 1, 5), (0, 2**64 - 1, 5), (0, 0, 0)):  # numbers that lead nowhere
            self.refuse_archive("damaged", Archive(pieces=[pieces]).file("g"))
        many = Archive()
        for number in range(10):
            many.file(f"f{number}")
        for why, archive, *words in [
            ("lies in no folder of the capture", Archive().link("l", "sub").file("l/f")),
            ("lies in no folder of the capture", Archive().file("f").file("f/f")),
            ("lies in no folder of the capture", Archive().file("a/f")),
            ("twice", Archive().folder("l").link("l", "../outside").file("l/escaped")),
            ("is a link to", Archive().folder("a").link("a/l", "../../outside")),
            ("twice", Archive().file("f").file("f")),
            ("twice or out of order", Archive().file("g").file("f")),
            ("damaged", Archive().file("f", (1,))),
            ("damaged", Archive(tail=b"more").file("f")),
            ("damaged", Archive().file("f", (0, 0))),  # pieces that no capture cuts: many would keep a restore busy
            ("is of version 2", Archive(version=2).file("f")),
            # A small archive that would unpack to terabytes.
            ("Allow more with --max-bytes", Archive(content=bytes(4 << 20)).file("f", (0,) * 100_000)),
            ("Allow more with --max-files", many, "--max-files", "9"),
            ("Allow more with --max-bytes", many, "--max-bytes", "100B"),
        ]:
            self.refuse_archive(why, archive, *words)

    def test_paths_through_links_that_are_there(self):
        os.symlink("../outside", self.at("a"))
        self.refuse_archive("a link instead of a folder", Archive().folder("a").file("a/precious"))
        os.remove(self.at("a"))
        os.symlink("../outside/precious", self.at("f"))
        self.give_archive(Archive().file("f"))
        self.carry("restore", self.tree)
        self.assertFalse(os.path.islink(self.at("f")))
        self.assertEqual(snapshot(self.path("outside"))["precious"][2], b"precious")

    def test_damage(self):  # and what else bytes can be: tests/fuzz
        whole = Archive().folder("a").file("a/f").bytes(self.tree, self.identity)
        for damaged in (b"", whole[:4], whole[: len(whole) // 2], whole[:-1], whole[:-60] + b"\xff" * 60):
            self.give(damaged)
            self.expect_said("damaged", "restore", self.tree)
        self.assertEqual(os.listdir(self.tree), [])

    def test_contents_that_are_not_what_they_are_said_to_be(self):
        archive = Archive().file("f")
        self.give_archive(archive)
        self.store(archive.key.hex(), b"other text of a liar.")
        self.expect_said("not what their key says", "restore", self.tree)
        lying = Archive().file("f")
        lying.pieces = [(bytes(32), 0, 0, 5)]
        self.refuse_archive("not what it says they are", lying)
        self.assertEqual(os.listdir(self.tree), [])


class Tools(CarryTest):
    def test_ninja_has_nothing_to_do_in_a_tree_that_was_restored(self):
        if shutil.which("ninja") is None or shutil.which("c++") is None:
            self.skipTest("ninja or a C++ compiler is not installed.")
        # As PyTorch builds an extension: sources elsewhere, rules and objects in a folder of the cache.
        write(self.path("source", "part.hpp"), b"int part();\n")
        source = self.path("source", "part.cpp")
        write(source, b'#include "part.hpp"\nint part() { return 42; }\n')
        self.put(
            "py311_cpu/extension/build.ninja",
            b"rule compile\n  command = c++ -MMD -MF $out.d -c $in -o $out\n  depfile = $out.d\n  deps = gcc\n"
            b"rule link\n  command = c++ -shared $in -o $out\n"
            b"build part.o: compile " + source.encode() + b"\nbuild part.so: link part.o\n",
        )

        def ninja():
            words = ["ninja", "-C", self.at("py311_cpu", "extension")]
            done = subprocess.run(words, capture_output=True, text=True, timeout=_LONG)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout

        self.assertIn("2/2", ninja())
        self.assertIn("no work to do", ninja())
        before = snapshot(self.tree)
        environment = {"TORCH_EXTENSIONS_DIR": self.tree, **self.python_with("torch-2.9.0.dist-info")}
        self.carry("capture", "torch-extensions", "--bundle", "extensions.bundle", **environment)
        shutil.rmtree(self.cache)
        self.expect_restored(before, "torch-extensions", "--bundle", "extensions.bundle", **environment)
        self.assertIn("no work to do", ninja())

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
        self.remove_tree()
        run_triton("answered", code=1)
        self.remove_tree()
        self.carry("restore", *words, **own)
        self.assertEqual(run_triton("answered"), cold)


if __name__ == "__main__":
    unittest.main(verbosity=2)

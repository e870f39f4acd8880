"""Compiles after a program said that it is ready (95): counted, named in the log and the summary, refused on demand;
said by the command from within and from outside, by C++ and by Python."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HEARTH = os.environ["HEARTH_COMMAND"]
PACKAGE = Path(os.environ["HEARTH_SOURCE"]) / "python"
LIBRARY = os.environ["HEARTH_LIBRARY"]
PYTHON = sys.executable


class Ready(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, value in (("a", 1), ("b", 2)):
            (self.folder / f"{name}.c").write_text(f"int {name}(void) {{ return {value}; }}\n")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith("HEARTH_")}
        self.environment |= {"HEARTH_DIR": str(self.folder / "cache"), "HOME": str(self.folder)}
        self.environment |= {"PYTHONPATH": str(PACKAGE), "HEARTH_LIBRARY": LIBRARY}

    def hearth(self, *words, **more):
        return subprocess.run(
            [HEARTH, *words], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60, **more
        )

    def run_with(self, script, *options):
        return self.hearth("run", *options, "--", "sh", "-c", script)

    def test_late_compiles_are_counted_and_named(self):
        script = f"gcc -c a.c && {HEARTH} ready && gcc -c b.c && gcc -c a.c"
        done = self.run_with(script, "--json", "--log", "log")
        summary = json.loads(done.stderr.splitlines()[-1])
        self.assertEqual((summary["compiled"], summary["after_ready"], summary["hits"]), (2, 1, 1), done.stderr)
        late = {c["name"]: c["after_ready"] for c in summary["slowest"]}
        self.assertEqual(late, {"a.c": False, "b.c": True})
        log = [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]
        self.assertEqual([(e["name"], e["after_ready"]) for e in log if e["outcome"] == "miss"], [("a.c", False), ("b.c", True)])
        stats = json.loads(self.hearth("stats", "--json").stdout)
        self.assertEqual(stats["compiles_after_ready"], 1)
        self.assertIn("hearth_compiles_after_ready_total 1\n", self.hearth("metrics").stdout)

    def test_the_summary_says_so_in_words(self):
        done = self.run_with(f"{HEARTH} ready && gcc -c b.c", "--summary")
        self.assertIn("1 compiled (1 after ready)", done.stderr)
        self.assertRegex(done.stderr, r"compiled b\.c in .* after ready")

    def test_late_compiles_are_refused_on_demand_and_hits_are_not(self):
        script = f"gcc -c a.c && {HEARTH} ready && gcc -c a.c && gcc -c b.c"
        done = self.run_with(script, "--forbid-compile=after-ready")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("b.c", done.stderr)
        self.assertIn("after-ready", done.stderr)
        self.assertTrue((self.folder / "a.o").exists())
        self.assertFalse((self.folder / "b.o").exists())

    def test_what_is_no_word_for_it_is_refused(self):
        done = self.run_with("true", "--forbid-compile=later")
        self.assertEqual(done.returncode, 2)
        self.assertIn("later", done.stderr)

    def test_the_next_run_begins_anew(self):
        self.run_with(f"{HEARTH} ready")
        done = self.run_with("gcc -c a.c", "--json")
        self.assertEqual(json.loads(done.stderr.splitlines()[-1])["after_ready"], 0)

    def test_said_from_outside_by_a_process_of_the_run(self):
        self.addCleanup(lambda: running.wait(10))
        running = subprocess.Popen(
            [HEARTH, "run", "--", "sh", "-c", "echo up; while [ ! -e go ]; do sleep 0.05; done; gcc -c b.c"],
            cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.assertEqual(running.stdout.readline(), "up\n")
        done = self.hearth("ready", "--pid", str(running.pid), "--json")
        self.assertEqual(json.loads(done.stdout)["runs"][0]["pid"], running.pid, done.stderr)
        (self.folder / "go").touch()
        self.assertEqual(running.wait(30), 0)
        running.stdout.close()
        self.assertEqual(json.loads(self.hearth("stats", "--json").stdout)["compiles_after_ready"], 1)

    def test_said_by_the_number_of_what_waits_for_the_program(self):
        running = subprocess.Popen(
            [HEARTH, "run", "--summary", "--", "sh", "-c", "echo up; cat; gcc -c b.c"],
            cwd=self.folder, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.assertEqual(running.stdout.readline(), "up\n")
        done = self.hearth("ready", "--pid", str(running.pid))
        _, told = running.communicate("", timeout=30)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 after ready", told)

    def test_a_users_own_folder_and_what_a_link_leads_to_stay_as_they_are(self):
        year_old = time.time() - 400 * 24 * 3600
        cache = self.folder / "cache"
        kept = []
        for folder in (cache / "ready", cache / "ready-marks", self.folder / "elsewhere"):
            folder.mkdir(parents=True, mode=0o700)
            for name in ("thesis", "1-0123456789abcdeg", "17-0123456789abcdef"):
                (folder / name).touch()
                os.utime(folder / name, (year_old, year_old))
                kept.append(folder / name)
        gone = kept.pop(5)
        self.run_with("true")
        self.assertFalse(gone.exists())
        self.assertEqual([file for file in kept if not file.exists()], [])
        for file in (cache / "ready-marks").iterdir():
            file.unlink()
        (cache / "ready-marks").rmdir()
        (cache / "ready-marks").symlink_to(self.folder / "elsewhere")
        done = self.run_with(f"{HEARTH} ready && gcc -c b.c", "--summary")
        self.assertIn("1 after ready", done.stderr)  # marked elsewhere
        self.assertEqual(len(list((self.folder / "elsewhere").iterdir())), 3)

    def test_a_mark_that_is_in_use_outlives_a_year(self):
        script = (
            f"{HEARTH} ready && touch -d '400 days ago' $HEARTH_READY_FILE && "
            f"env -u HEARTH_READY_FILE {HEARTH} run -- true; gcc -c b.c"
        )
        self.assertNotEqual(self.run_with(script, "--forbid-compile=after-ready").returncode, 0)
        self.assertFalse((self.folder / "b.o").exists())

    def test_what_others_say_in_the_environment_is_not_believed(self):
        for file in ("", "mark", str(self.folder / "planted")):
            self.environment["HEARTH_READY_FILE"] = file
            done = self.run_with(f"{HEARTH} ready && gcc -c b.c; rm -f b.o; {HEARTH} clear --yes", "--summary")
            self.assertIn("1 after ready", done.stderr, file)
        self.assertFalse((self.folder / "planted").exists())

    @unittest.skipUnless(os.geteuid() == 0, "skipped: only root can be another user")
    def test_another_users_processes_are_none_of_ours(self):
        planted = self.folder / "ready-marks" / "1-0123456789abcdef"
        planted.parent.mkdir()
        other = subprocess.Popen(
            ["sleep", "60"], env={"HEARTH_READY_FILE": str(planted), "PATH": os.environ["PATH"]}, user=65534, group=65534
        )
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        self.assertNotEqual(self.hearth("ready", "--pid", str(other.pid)).returncode, 0)
        self.hearth("ready", "--all")
        self.assertFalse(planted.exists())

    def test_a_process_of_no_run_is_told_apart(self):
        done = self.hearth("ready", "--pid", str(os.getpid()))
        self.assertEqual(done.returncode, 3)
        self.assertIn("hearth run", done.stderr)

    def test_said_by_python_under_a_run_and_without_one(self):
        script = (
            "import hearth\ncache = hearth.Cache.shared()\n"
            "cache.get_or_compile(hearth.key('t', '1', n=1), lambda: b'x')\nhearth.ready()\n"
            "cache.get_or_compile(hearth.key('t', '1', n=2), lambda: b'y')\n"
            "print(cache.stats().compiles_after_ready)\n"
        )
        (self.folder / "program.py").write_text(script)
        alone = subprocess.run(
            [PYTHON, "program.py"], cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=60
        )
        self.assertEqual(alone.stdout, "1\n", alone.stderr)
        done = self.hearth("clear", "--yes")
        done = self.hearth("run", "--json", "--", PYTHON, "program.py")
        self.assertEqual(json.loads(done.stderr.splitlines()[-1])["after_ready"], 1, done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())

"""Compiles after a program said that it is ready (95): counted, named in the log and the summary, refused on demand;
said by the command from within and from outside, by C++ and by Python."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
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

    def summary_of(self, *words):
        return json.loads(self.hearth("run", "--json", *words).stderr.splitlines()[-1])

    def expect_only_a(self, done):
        """Compiled: what was asked for before it was ready, and nothing after that."""
        self.assertTrue((self.folder / "a.o").exists(), done.stderr)
        self.assertFalse((self.folder / "b.o").exists(), done.stderr)

    def start(self, words, **more):
        process = subprocess.Popen(words, cwd=self.folder, **more)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def expect_none_of_ours(self, process):
        self.assertNotEqual(self.hearth("ready", "--pid", str(process.pid)).returncode, 0)
        self.assertNotIn(str(process.pid), self.hearth("ready", "--all").stdout)

    def test_late_compiles_are_counted_and_named(self):
        script = f"gcc -c a.c && {HEARTH} ready && gcc -c b.c && gcc -c a.c"
        summary = self.summary_of("--log", "log", "--", "sh", "-c", script)
        self.assertEqual((summary["compiled"], summary["after_ready"], summary["hits"]), (2, 1, 1), summary)
        late = {c["name"]: c["after_ready"] for c in summary["slowest"]}
        self.assertEqual(late, {"a.c": False, "b.c": True})
        log = [json.loads(line) for line in (self.folder / "log").read_text().splitlines()]
        self.assertEqual([(e["name"], e["after_ready"]) for e in log if e["outcome"] == "miss"], [("a.c", False), ("b.c", True)])
        stats = json.loads(self.hearth("stats", "--json").stdout)
        self.assertEqual(stats["compiles_after_ready"], 1)
        self.assertIn("hearth_compiles_after_ready_total 1\n", self.hearth("metrics").stdout)

    def test_late_compiles_are_refused_on_demand(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()
        self.environment["TMPDIR"] = str(temporary)
        for what, script in {
            "and hits are not": f"gcc -c a.c && {HEARTH} ready && gcc -c a.c && gcc -c b.c",
            "in a run within the run, which gets ready with it":
                f"{HEARTH} run --summary -- gcc -c a.c && {HEARTH} run -- {HEARTH} ready && "
                f"{HEARTH} run --forbid-compile=after-ready -- gcc -c b.c",
            "without the cache directory and the temporary folder":
                f"gcc -c a.c && {HEARTH} ready && rm -rf cache {temporary} && mkdir {temporary}; gcc -c b.c",
        }.items():
            with self.subTest(what):
                (self.folder / "a.o").unlink(missing_ok=True)
                done = self.run_with(script, "--forbid-compile=after-ready")
                self.assertNotEqual(done.returncode, 0)
                self.assertIn("b.c", done.stderr)
                self.assertIn("after-ready", done.stderr)
                self.expect_only_a(done)

    def test_what_is_no_word_for_it_is_refused(self):
        done = self.run_with("true", "--forbid-compile=later")
        self.assertEqual(done.returncode, 2)
        self.assertIn("later", done.stderr)

    def test_the_next_run_begins_anew(self):
        self.run_with(f"{HEARTH} ready")
        self.assertEqual(self.summary_of("--", "gcc", "-c", "a.c")["after_ready"], 0)

    def test_said_from_outside_by_a_process_of_the_run(self):
        # With a summary the number is that of what waits for the program, and otherwise the program's own.
        for count, options in ((1, []), (2, ["--summary"])):
            (self.folder / "b.c").write_text(f"int b{count};\n")
            pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
            words = [HEARTH, "run", *options, "--", "sh", "-c", "echo up; cat; gcc -c b.c"]
            running = self.start(words, env=self.environment, text=True, **pipes)
            self.assertEqual(running.stdout.readline(), "up\n")
            done = self.hearth("ready", "--pid", str(running.pid), "--json")
            told = json.loads(done.stdout)["runs"][0]["pid"]
            self.assertEqual(told == running.pid, not options, "with a summary it is a process of its own")
            _, said = running.communicate("", timeout=30)
            self.assertEqual((running.returncode, "1 after ready" in said), (0, bool(options)), said)
            self.assertEqual(json.loads(self.hearth("stats", "--json").stdout)["compiles_after_ready"], count)

    @unittest.skipUnless(os.geteuid() == 0, "skipped: only root can be another user")
    def test_no_neighbour_keeps_a_service_from_starting(self):
        temporary = self.folder / "tmp"
        for name in (f"ready-marks-{os.geteuid()}", "ready-marks", f"hearth-{os.geteuid()}", "hearth"):
            (temporary / name).mkdir(parents=True)
            os.chown(temporary / name, 65534, 65534)
        (self.folder / "cache").mkdir()
        for folder in (temporary, self.folder / "cache"):
            os.chmod(folder, 0o777)
        self.environment["TMPDIR"] = str(temporary)
        done = self.run_with(f"gcc -c a.c && {HEARTH} ready && gcc -c b.c", "--forbid-compile=after-ready")
        self.assertIn("b.c", done.stderr)
        self.expect_only_a(done)

    def run_python(self, script, *options):
        (self.folder / "program.py").write_text("import os, subprocess\n" + script)
        return self.hearth("run", *options, "--", PYTHON, "program.py")

    def test_children_without_our_descriptors_know_when_it_is_ready(self):
        done = self.run_python(
            "subprocess.run(['gcc', '-c', 'a.c'], close_fds=True, check=True)\n"
            f"subprocess.run(['{HEARTH}', 'ready'], close_fds=True, check=True)\n"
            "subprocess.run(['gcc', '-c', 'b.c'], close_fds=True)\n",
            "--forbid-compile=after-ready",
        )
        self.expect_only_a(done)

    def test_forked_children_know_when_it_is_ready(self):
        script = (
            "import hearth\ncache = hearth.Cache.shared()\n"
            "def compiles(n):\n"
            "  if os.fork() == 0:\n"
            "    try: cache.get_or_compile(hearth.key('t', '1', n=n), lambda: b'x')\n"
            "    except hearth.Error: os._exit(1)\n"
            "    os._exit(0)\n"
            "  return os.wait()[1] == 0\n"
            "before = compiles(1)\n"
            "if os.fork() == 0:\n  hearth.ready()\n  os._exit(0)\n"
            "os.wait()\n"
            "print(before, compiles(2), compiles(1))\n"
        )
        self.assertEqual(self.run_python(script, "--forbid-compile=after-ready").stdout, "True False True\n")

    def test_who_loses_the_mark_may_not_compile(self):
        lost = "os.closerange(3, 4096)\nsubprocess.run(['gcc', '-c', 'a.c'])\n"
        done = self.run_python(lost, "--forbid-compile=after-ready")
        self.assertFalse((self.folder / "a.o").exists(), done.stderr)
        inner = f"subprocess.run(['{HEARTH}', 'run', '--forbid-compile=after-ready', '--', 'gcc', '-c', 'a.c'])\n"
        done = self.run_python("os.closerange(3, 4096)\n" + inner, "--forbid-compile=after-ready")
        self.assertIn("HEARTH_READY_MARK", done.stderr)
        self.assertFalse((self.folder / "a.o").exists())
        # Where `hearth run` stays, it has the mark itself.
        done = self.run_python(lost, "--forbid-compile=after-ready", "--summary")
        self.assertTrue((self.folder / "a.o").exists(), done.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "skipped: only root can become another user")
    def test_a_worker_that_has_dropped_its_rights_has_the_mark_that_it_inherited(self):
        self.folder.chmod(0o777)
        (self.folder / "cache").mkdir()
        (self.folder / "cache").chmod(0o777)
        self.environment["HEARTH_SHARED"] = "1"
        done = self.run_python(
            "def compile(name):\n"
            "  if os.fork() == 0:\n"
            "    os.setgroups([]), os.setgid(65534), os.setuid(65534)\n"
            "    os._exit(subprocess.run(['gcc', '-c', name], close_fds=False).returncode)\n"
            "  os.wait()\n"
            f"compile('a.c'), subprocess.run(['{HEARTH}', 'ready']), compile('b.c')\n",
            "--forbid-compile=after-ready",
        )
        self.expect_only_a(done)

    def test_what_others_say_in_the_environment_is_not_believed(self):
        for mark in ("", "mark", "1", "1/2", "1/2/3", "-1/2/0123456789abcdef", f"1/2/{'0' * 16}", f"../1/2/{'0' * 16}"):
            self.environment["HEARTH_READY_MARK"] = mark
            done = self.run_with(f"gcc -c a.c; {HEARTH} ready && gcc -c b.c; rm -f *.o; {HEARTH} clear --yes", "--summary")
            self.assertIn("2 compiled (1 after ready)", done.stderr, mark)
            self.assertRegex(done.stderr, r"compiled b\.c in .* after ready")

    @unittest.skipUnless(os.geteuid() == 0, "skipped: only root can be another user")
    def test_another_users_processes_are_none_of_ours(self):
        mark = self.run_with("echo $HEARTH_READY_MARK").stdout.strip()
        environment = {"HEARTH_READY_MARK": mark, "PATH": os.environ["PATH"]}
        self.expect_none_of_ours(self.start(["sleep", "60"], env=environment, user=65534, group=65534))

    @unittest.skipUnless(os.geteuid() == 0, "skipped: only root can be another user")
    def test_a_program_of_root_that_another_user_started_is_none_of_ours(self):
        program = self.folder / "sleep"
        shutil.copy(shutil.which("sleep"), program)
        program.chmod(0o4755)
        self.folder.chmod(0o755)
        mark = os.memfd_create("hearth-0123456789abcdef", os.MFD_ALLOW_SEALING)
        self.addCleanup(os.close, mark)
        environment = {"HEARTH_READY_MARK": f"1/{mark}/0123456789abcdef"}
        as_other = {"user": 65534, "group": 65534, "extra_groups": ()}
        self.expect_none_of_ours(self.start(["./sleep", "60"], env=environment, pass_fds=(mark,), **as_other))

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
        self.hearth("clear", "--yes")
        self.assertEqual(self.summary_of("--", PYTHON, "program.py")["after_ready"], 1)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))

"""What `hearth metrics` says, as Prometheus's own tools read it (91): promtool checks the text, the queries of
docs/metrics.md, the example's alerts and its dashboard; the page names every metric there is."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HEARTH = os.environ["HEARTH_COMMAND"]
SOURCE = Path(os.environ["HEARTH_SOURCE"])
EXAMPLE = SOURCE / "examples" / "prometheus"


def hearth(*words, directory):
    done = subprocess.run([HEARTH, "--dir", str(directory), *words], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(f"hearth {words}: {done.returncode}\n{done.stderr}")
    return done.stdout


def samples(text):
    """{(name, labels): value} of a text, and the types of its families."""
    values, types = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            types[name] = kind
        elif line and not line.startswith("#"):
            name, labels, value = re.fullmatch(r"([a-z_]+)(?:\{(.*)\})? (\S+)", line).groups()
            values[name, labels or ""] = float(value)
    return values, types


class Metrics(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.cache = self.folder / "cache"
        file = self.folder / "kernel"
        file.write_bytes(b"x" * 1000)
        for name in ("one", "two"):
            hearth("put", name, str(file), directory=self.cache)
        for _ in range(3):
            hearth("get", "one", "-o", str(self.folder / "out"), directory=self.cache)

    def stats(self):
        return json.loads(hearth("stats", "--json", directory=self.cache))

    def test_equal_what_stats_shows(self):
        stats = self.stats()
        values, _ = samples(hearth("metrics", directory=self.cache))
        self.assertEqual(values["hearth_lookups_total", ""], stats["lookups"])
        self.assertEqual(sum(v for (n, _), v in values.items() if n == "hearth_hits_total"), stats["hits"])
        self.assertEqual(stats["hits"], 3)
        self.assertEqual(sum(v for (n, _), v in values.items() if n == "hearth_compiler_hits_total"), stats["hits"])
        disk = next(tier for tier in stats["tiers"] if tier["name"] == "disk")
        self.assertEqual(values["hearth_tier_used_bytes", 'tier="disk"'], disk["used_bytes"])
        self.assertEqual(values["hearth_tier_entries", 'tier="disk"'], 2)
        self.assertGreaterEqual(values["hearth_tier_longest_idle_seconds", 'tier="disk"'], 0)
        self.assertEqual(values["hearth_hit_duration_seconds_count", 'tier="disk"'], 3)
        for reason, count in stats["misses"].items():
            self.assertEqual(values["hearth_misses_total", f'reason="{reason}"'], count)

    def test_counts_never_go_back_when_processes_come_and_go(self):
        before, types = samples(hearth("metrics", directory=self.cache))
        for _ in range(5):
            hearth("get", "two", "-o", str(self.folder / "out"), directory=self.cache)
            after, _ = samples(hearth("metrics", directory=self.cache))
            for (name, labels), value in before.items():
                if name.endswith("_total") or types.get(name.rsplit("_", 1)[0]) == "histogram":
                    self.assertGreaterEqual(after[name, labels], value, (name, labels))
            before = after

    def test_a_histogram_adds_up(self):
        values, _ = samples(hearth("metrics", directory=self.cache))
        buckets = [v for (n, l), v in values.items() if n == "hearth_hit_duration_seconds_bucket" and 'tier="disk"' in l]
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], values["hearth_hit_duration_seconds_count", 'tier="disk"'])

    def test_the_text_ends_as_openmetrics_wants(self):
        self.assertTrue(hearth("metrics", directory=self.cache).endswith("\n# EOF\n"))

    def test_a_textfile_is_replaced_whole_and_left_alone_if_it_cannot_be(self):
        file = self.folder / "hearth.prom"
        hearth("metrics", "--textfile", str(file), directory=self.cache)
        first = file.stat().st_ino
        hearth("metrics", "--textfile", str(file), directory=self.cache)
        self.assertNotEqual(file.stat().st_ino, first)
        self.assertTrue(file.read_text().endswith("\n"))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["cache", "hearth.prom", "kernel", "out"])
        done = subprocess.run(
            [HEARTH, "--dir", str(self.cache), "metrics", "--textfile", str(self.folder / "no" / "such")],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual(done.returncode, 3)
        self.assertIn("no/such", done.stderr)

    def test_the_page_names_every_metric(self):
        page = (SOURCE / "docs" / "metrics.md").read_text()
        table = hearth("metrics", "--table", directory=self.cache)
        self.assertIn(table, page, "docs/metrics.md differs from `hearth metrics --table`: put its table there")

    def test_labels_are_bounded(self):
        values, _ = samples(hearth("metrics", directory=self.cache))
        names = {name for _, labels in values for name in re.findall(r'(\w+)="', labels)}
        self.assertLessEqual(names, {"tier", "reason", "compiler", "le", "version", "commit"})


@unittest.skipUnless(shutil.which("promtool"), "skipped: promtool (Debian's prometheus) is not installed")
class Promtool(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def promtool(self, *words, text=None):
        done = subprocess.run(["promtool", *words], input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def check_queries(self, queries):
        rules = [{"record": f"q{i}", "expr": query} for i, query in enumerate(queries)]
        file = self.folder / "rules.json"
        file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
        self.promtool("check", "rules", str(file))

    def known(self):
        text = hearth("metrics", "--table", directory=self.folder / "cache")
        names = set()
        for name, kind in re.findall(r"^\| `(\w+)` \| (\w+)", text, re.M):
            names |= {name + s for s in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
        return names, [q.replace("\\|", "|") for q in re.findall(r"`([^`]*)` \|$", text, re.M)]

    def test_the_textfile_is_clean(self):
        file = self.folder / "hearth.prom"
        cache = self.folder / "cache"
        (self.folder / "k").write_bytes(b"k")
        hearth("put", "one", str(self.folder / "k"), directory=cache)
        hearth("metrics", "--textfile", str(file), directory=cache)
        self.promtool("check", "metrics", text=file.read_text())

    def test_every_query_of_the_table_can_be_asked(self):
        names, queries = self.known()
        self.assertEqual(len(queries), len(re.findall(r"\n", hearth("metrics", "--table", directory=self.folder))) - 2)
        self.check_queries(queries)
        for query in queries:
            self.assertLessEqual(set(re.findall(r"hearth_\w+", query)), names, query)

    def test_the_alerts_are_rules_over_metrics_that_there_are(self):
        self.promtool("check", "rules", str(EXAMPLE / "alerts.yml"))
        names, _ = self.known()
        used = set(re.findall(r"hearth_[a-z_]+", re.sub(r"(?m)^\s*(summary|description):.*", "", (EXAMPLE / "alerts.yml").read_text())))
        self.assertLessEqual(used, names)

    def test_the_dashboard_asks_for_metrics_that_there_are(self):
        dashboard = json.loads((EXAMPLE / "dashboard.json").read_text())
        queries = [t["expr"].replace("$instance", ".*") for p in dashboard["panels"] for t in p["targets"]]
        self.assertGreater(len(queries), 8)
        self.check_queries(queries)
        names, _ = self.known()
        for query in queries:
            self.assertLessEqual(set(re.findall(r"hearth_\w+", query)), names, query)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))

"""What `hearth metrics` says, as Prometheus's own tools read it (91): promtool checks the text, the queries of
docs/metrics.md, the example's alerts and its dashboard; the page names every metric there is; and Prometheus scrapes
`hearth serve`."""

import json
import os
import re
import shutil
import subprocess
import unittest
import urllib.error
import urllib.parse
from pathlib import Path

from eventually import eventually
from serving import CacheTest, free_port, get

SOURCE = Path(os.environ["HEARTH_SOURCE"])
EXAMPLE = SOURCE / "examples" / "prometheus"


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


class MetricsTest(CacheTest):
    def printed(self, *words):
        done = self.hearth(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def metrics(self):
        return samples(self.printed("metrics"))


class Metrics(MetricsTest):
    def setUp(self):
        super().setUp()
        Path(self.folder, "kernel").write_bytes(b"x" * 1000)
        for name in ("one", "two"):
            self.printed("put", name, "kernel")
        for _ in range(3):
            self.printed("get", "one", "-o", "out")

    def test_equal_what_stats_shows(self):
        stats = self.stats()
        values, _ = self.metrics()
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
        before, types = self.metrics()
        for _ in range(5):
            self.printed("get", "two", "-o", "out")
            after, _ = self.metrics()
            for (name, labels), value in before.items():
                if name.endswith("_total") or types.get(name.rsplit("_", 1)[0]) == "histogram":
                    self.assertGreaterEqual(after[name, labels], value, (name, labels))
            before = after

    def test_a_histogram_adds_up_and_labels_are_bounded(self):
        values, _ = self.metrics()
        buckets = [v for (n, l), v in values.items() if n == "hearth_hit_duration_seconds_bucket" and 'tier="disk"' in l]
        self.assertEqual(buckets, sorted(buckets))
        self.assertEqual(buckets[-1], values["hearth_hit_duration_seconds_count", 'tier="disk"'])
        names = {name for _, labels in values for name in re.findall(r'(\w+)="', labels)}
        self.assertLessEqual(names, {"tier", "reason", "compiler", "le", "version", "commit"})
        self.assertTrue(self.printed("metrics").endswith("\n# EOF\n"), "as OpenMetrics wants")

    def test_a_textfile_is_replaced_whole_and_left_alone_if_it_cannot_be(self):
        file = Path(self.folder, "hearth.prom")
        self.printed("metrics", "--textfile", "hearth.prom")
        first = file.stat().st_ino
        self.printed("metrics", "--textfile", "hearth.prom")
        self.assertNotEqual(file.stat().st_ino, first)
        self.assertTrue(file.read_text().endswith("\n"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["cache", "hearth.prom", "kernel", "out"])
        done = self.hearth("metrics", "--textfile", "no/such")
        self.assertEqual(done.returncode, 3)
        self.assertIn("no/such", done.stderr)

    def test_the_page_names_every_metric(self):
        page = (SOURCE / "docs" / "metrics.md").read_text()
        table = self.printed("metrics", "--table")
        self.assertIn(table, page, "docs/metrics.md differs from `hearth metrics --table`: put its table there")



@unittest.skipUnless(shutil.which("promtool"), "skipped: promtool (Debian's prometheus) is not installed")
class Promtool(MetricsTest):
    def promtool(self, *words, text=None):
        done = subprocess.run(["promtool", *words], input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)

    def check_queries(self, queries):
        rules = [{"record": f"q{i}", "expr": query} for i, query in enumerate(queries)]
        file = Path(self.folder, "rules.json")
        file.write_text(json.dumps({"groups": [{"name": "queries", "rules": rules}]}))
        self.promtool("check", "rules", str(file))
        names, _ = self.known()
        for query in queries:
            self.assertLessEqual(set(re.findall(r"hearth_\w+", query)), names, query)

    def known(self):
        """Every metric, with what a histogram has, and the queries of the table."""
        text = self.printed("metrics", "--table")
        names = set()
        for name, kind in re.findall(r"^\| `(\w+)` \| (\w+)", text, re.M):
            names |= {name + s for s in ("_bucket", "_sum", "_count")} if kind == "histogram" else {name}
        return names, [q.replace("\\|", "|") for q in re.findall(r"`([^`]*)` \|$", text, re.M)]

    def test_the_textfile_is_clean(self):
        self.printed("put", "one", __file__)
        self.printed("metrics", "--textfile", "hearth.prom")
        self.promtool("check", "metrics", text=Path(self.folder, "hearth.prom").read_text())

    def test_every_query_of_the_table_can_be_asked(self):
        _, queries = self.known()
        self.assertEqual(len(queries), self.printed("metrics", "--table").count("\n") - 2)
        self.check_queries(queries)

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


class Scraped(CacheTest):
    def test_the_hit_rate_that_prometheus_computes_equals_that_of_hearth_stats(self):
        program = shutil.which("prometheus")
        if not program:
            print("skipped: prometheus is not installed")
            self.skipTest("prometheus is not installed")
        self.fill(100)
        token = Path(self.folder, "token")
        token.write_text("0123456789abcdef")
        target = urllib.parse.urlsplit(self.serve("--token-file", str(token))).netloc
        settings = Path(self.folder, "prometheus.yml")
        settings.write_text(
            "scrape_configs:\n- job_name: hearth\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n"
            f"  authorization: {{credentials_file: {token}}}\n  static_configs: [{{targets: ['{target}']}}]\n"
        )
        port = free_port()
        with open(os.path.join(self.folder, "log"), "w") as log:
            prometheus = subprocess.Popen(
                [program, "--config.file", settings, "--storage.tsdb.path", os.path.join(self.folder, "tsdb"),
                 f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
        self.addCleanup(prometheus.wait)
        self.addCleanup(prometheus.kill)

        def ask(query):
            """The value, or None as long as there is none."""
            address = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": query})
            try:
                result = json.loads(get(address)[2])["data"]["result"]
            except (urllib.error.URLError, ConnectionError, ValueError, KeyError):
                return None
            return float(result[0]["value"][1]) if result else None

        def hit_rate():
            self.assertIsNone(prometheus.poll(), "prometheus ended")
            return ask("sum(hearth_hits_total) / sum(hearth_lookups_total)")

        value = eventually("prometheus knows the hit rate", hit_rate)
        stats = self.stats()
        self.assertGreater(stats["hits"], 100)
        self.assertAlmostEqual(value, stats["hit_rate"], places=12)
        self.assertEqual(ask('max_over_time(up{job="hearth"}[1h])'), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""Prometheus scrapes `hearth serve`, and what it answers equals `hearth stats --json`."""

import json
import os
import shutil
import subprocess
import unittest
import urllib.error
import urllib.parse

from eventually import eventually
from ports import free_port
from serving import CacheTest, get


class Scraped(CacheTest):
    def test_the_hit_rate_that_prometheus_computes_equals_that_of_hearth_stats(self):
        program = shutil.which("prometheus")
        if not program:
            print("skipped: prometheus is not installed")
            self.skipTest("prometheus is not installed")
        self.fill(100)
        token = os.path.join(self.folder, "token")
        with open(token, "w") as file:
            file.write("0123456789abcdef")
        target = urllib.parse.urlsplit(self.serve("--token-file", token)).netloc
        settings = os.path.join(self.folder, "prometheus.yml")
        with open(settings, "w") as file:
            file.write(
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

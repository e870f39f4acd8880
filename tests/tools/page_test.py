#!/usr/bin/env python3
"""The page in a real browser: its figures, its safety and how it looks. The browser is started once.

  page_test.py                                  the tests
  page_test.py --pictures FOLDER DIRECTORY      pictures of the page of a cache directory
  page_test.py --measure DIRECTORY              how quick it is, with a cache directory
"""

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import unittest

try:
    from selenium import webdriver
except ImportError:  # Debian's package is for Debian's Python
    if sys.executable != "/usr/bin/python3" and os.path.exists("/usr/bin/python3"):
        os.execv("/usr/bin/python3", ["/usr/bin/python3", "-B", *sys.argv])
    webdriver = None

from eventually import eventually
from serving import CacheTest, get

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"


def browser(folder):
    """Its own files go into `folder`: it leaves some behind."""
    options = webdriver.ChromeOptions()
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--window-size=1280,1000", "--hide-scrollbars"):
        options.add_argument(word)
    options.binary_location = shutil.which("chromium")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return webdriver.Chrome(service=webdriver.chrome.service.Service(shutil.which("chromedriver"), env={**os.environ, "TMPDIR": folder}), options=options)


def set_colours(driver, scheme):
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})


def set_width(driver, width, height):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})


def wait_for(driver, script):
    return eventually(script, lambda: driver.execute_script("return " + script))


def requested(driver):
    """The addresses of every request since the last call."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"]


class Page(CacheTest):
    @classmethod
    def setUpClass(cls):
        missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
        if webdriver is None or missing:
            print("skipped: " + ", ".join(missing or ["python3-selenium"]) + " not found")
            raise unittest.SkipTest("no browser")
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.driver = browser(folder.name)

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()

    def open(self, address):
        self.driver.get(address)
        wait_for(self.driver, "document.getElementById('rows').childElementCount || document.getElementById('where').textContent")

    def fact(self, name):
        return float(self.driver.execute_script(f"return document.querySelector('[data-fact={name}]').dataset.value"))

    def expect_figures(self, stats):
        for name in ("compile_seconds_saved", "hit_rate", "compiles"):
            self.assertEqual(self.fact(name), stats[name], name)
        text = self.driver.find_element("id", "rate").text
        self.assertEqual([int(re.sub(r"\D", "", part)) for part in text.split(" of ")], [stats["hits"], stats["lookups"]])
        shown = self.driver.execute_script("return [...document.querySelectorAll('#compilers .name')].map(one => one.textContent)")
        self.assertEqual(sorted(shown), sorted(one["name"] for one in stats["compilers"]))
        tiers = self.driver.execute_script("return [...document.querySelectorAll('#tiers .note')].map(one => one.textContent)")
        for tier, note in zip(stats["tiers"], tiers):
            self.assertTrue(re.sub("[\u202f ]", "", note).startswith(f"{tier['entries']}entr"), note)

    def expect_harmless(self):
        self.assertEqual(self.driver.title, "Hearth")
        self.assertEqual(self.driver.execute_script("return document.images.length"), 0)
        self.driver.execute_script("document.querySelector('input[name=sort][value=created]').click()")
        wait_for(self.driver, "document.querySelector('#rows button').textContent.includes('<script>')")
        self.assertEqual(self.driver.execute_script("return document.querySelector('#rows button').textContent"), HOSTILE)
        self.driver.execute_script("document.querySelector('#rows button').click()")
        wait_for(self.driver, "document.querySelector('#detail-body h3')")
        self.assertEqual(self.driver.find_element("id", "detail-title").text, HOSTILE)
        self.driver.execute_script("document.getElementById('detail').close()")
        self.assertEqual(self.driver.title, "Hearth")

    def expect_no_mischief_in_logs(self, allowed):
        for address in requested(self.driver):
            self.assertTrue(address.startswith((allowed, "data:", "chrome", "about:")), address)
        for entry in self.driver.get_log("browser"):
            self.assertNotIn("Content Security Policy", entry["message"])
            self.assertNotEqual(entry["level"], "SEVERE", entry["message"])

    def test_the_page_of_a_server(self):
        self.fill(300, HOSTILE)
        address = self.serve()
        driver = self.driver
        requested(driver)
        self.open(address)
        self.expect_figures(self.stats())
        self.assertEqual(json.loads(get(address + "api/stats")[2]), self.stats())
        self.expect_harmless()

        with self.subTest("bars over time"):
            self.assertGreater(driver.execute_script("return document.querySelectorAll('#chart rect.hit').length"), 5)
            driver.execute_script("document.querySelector('input[name=range][value=\"168\"]').click()")
            self.assertGreater(driver.execute_script("return document.querySelectorAll('#chart rect.hit').length"), 20)

        with self.subTest("search, order and paging are the server's"):
            self.assertEqual(driver.execute_script("return document.getElementById('rows').childElementCount"), 25)
            first = driver.execute_script("return document.querySelector('#rows button').textContent")
            driver.execute_script("document.getElementById('next').click()")
            wait_for(driver, f"document.querySelector('#rows button').textContent !== {json.dumps(first)}")
            search = driver.find_element("id", "search")
            search.send_keys("RMS_norm")
            wait_for(driver, "document.getElementById('where').textContent.includes('in all')")
            names = driver.execute_script("return [...document.querySelectorAll('#rows button')].map(one => one.textContent)")
            self.assertTrue(names and all("rms_norm" in name for name in names), names)
            search.clear()
            search.send_keys("no such kernel")
            wait_for(driver, "document.getElementById('where').textContent === 'Nothing matches.'")

        with self.subTest("why a slow compile missed, by keyboard"):
            driver.execute_script("document.querySelector('#slowest button').focus()")
            driver.switch_to.active_element.send_keys("\ue007")
            wait_for(driver, "document.getElementById('detail').open && document.querySelector('#detail-body h3')")
            said = driver.execute_script("return document.getElementById('detail-body').textContent")
            self.assertIn("No tier had it.", said)
            self.assertTrue("What is different:" in said or "first of its kind" in said, said)
            driver.switch_to.active_element.send_keys("\ue00c")
            wait_for(driver, "!document.getElementById('detail').open")

        with self.subTest("light and dark"):
            grounds = []
            for scheme in ("light", "dark"):
                set_colours(driver, scheme)
                grounds.append(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
            self.assertNotEqual(*grounds)
            set_colours(driver, "")

        with self.subTest("a phone"):
            set_width(driver, 360, 780)
            width = driver.execute_script("return document.documentElement.scrollWidth")
            driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
            self.assertLessEqual(width, 360)
        self.expect_no_mischief_in_logs(address)

    def test_the_page_of_a_file(self):
        self.fill(300, HOSTILE)
        path = os.path.join(self.folder, "page.html")
        result = self.hearth("report", "-o", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        requested(self.driver)
        self.open("file://" + path)
        self.expect_figures(self.stats())
        self.expect_harmless()
        self.driver.find_element("id", "search").send_keys("gemm_fp8")
        wait_for(self.driver, "document.getElementById('where').textContent.includes('in all')")
        self.expect_no_mischief_in_logs("file://" + path)

    def test_an_empty_cache_says_how_to_begin(self):
        self.open(self.serve())
        self.assertIn("hearth run", self.driver.find_element("id", "welcome").text)
        self.assertIn("There is nothing in the cache.", self.driver.find_element("id", "where").text)


@contextlib.contextmanager
def of_directory(directory):
    """A browser, and what starts a server of the directory."""
    test = CacheTest()
    test.directory = directory
    driver = browser(tempfile.gettempdir())
    try:
        yield driver, test.serve
    finally:
        driver.quit()
        test.doCleanups()


def pictures(folder, directory):
    with of_directory(directory) as (driver, serve):
        address = serve()
        for name, scheme, width, height in (("page-light", "light", 1180, 1240), ("page-dark", "dark", 1180, 1240), ("page-phone", "light", 390, 1100)):
            set_width(driver, width, height)
            set_colours(driver, scheme)
            for _ in range(2):  # the first time the listing may still be under way
                driver.get(address)
                wait_for(driver, "document.getElementById('rows').childElementCount")
            driver.execute_script("document.querySelector('input[name=range][value=\"168\"]').click()")
            driver.save_screenshot(os.path.join(folder, name + ".png"))


def measure(directory):
    with of_directory(directory) as (driver, serve):
        began = time.monotonic()
        address = serve()
        print(f"server ready after {time.monotonic() - began:.3f} s")
        driver.get(address)
        wait_for(driver, "document.getElementById('rows').childElementCount")
        print(f"first listing there after {time.monotonic() - began:.1f} s")
        paints, pages, searches = [], [], []
        for _ in range(10):
            driver.get(address)
            wait_for(driver, "document.getElementById('rows').childElementCount")
            paints.append(wait_for(driver, "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"))
        clock = "const done = arguments[1], began = performance.now(); fetch(arguments[0]).then(a => a.text()).then(() => done(performance.now() - began))"
        for i in range(20):
            pages.append(driver.execute_async_script(clock, f"api/entries?sort=uses&from={i * 4000}&count=25"))
            searches.append(driver.execute_async_script(clock, f"api/entries?sort=size&search=gemm_fp8_{i}&count=25"))
        for what, values in (("first paint", paints), ("a page of entries", pages), ("a search", searches)):
            values.sort()
            print(f"{what}: median {values[len(values) // 2]:.1f} ms, worst {values[-1]:.1f} ms")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--pictures"]:
        pictures(*sys.argv[2:4])
    elif sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[2])
    else:
        unittest.main(verbosity=2)

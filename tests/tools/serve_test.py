#!/usr/bin/env python3
"""`hearth serve` as hostile, clumsy and many clients meet it."""

import json
import os
import pathlib
import re
import resource
import select
import signal
import socket
import unittest
import urllib.parse

from eventually import eventually
from serving import CacheTest, get


def place_of(address):
    parts = urllib.parse.urlsplit(address)
    return parts.hostname, parts.port


def talk(place, data):
    """What the server sends for these bytes until it closes."""
    with socket.create_connection(place, timeout=60) as client:
        client.sendall(data)
        answer = b""
        while True:
            try:
                part = client.recv(65536)
            except ConnectionResetError:
                return answer
            if not part:
                return answer
            answer += part


def asking(path, host="localhost", more=""):
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n".encode()


def status_of(answer):
    found = re.match(rb"HTTP/1\.[01] (\d+)", answer)
    return int(found[1]) if found else 0


class Clients(CacheTest):
    def test_hostile_requests_are_refused_and_others_are_served(self):
        self.hearth("put", "kernel", __file__)
        address = self.serve()
        place = place_of(address)

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 4096), most))
        # These never finish their request, and trickle.
        slow = [socket.create_connection(place) for _ in range(300)]
        for client in slow:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
        # These leave in the middle of a word, or say nothing.
        for data in (b"", b"G", b"GET /api/pa", b"GET / HTTP/1.1\r\nHost: loc", b"POST /api/gc HTTP/1.1\r\nContent-Length: 99\r\n\r\nx"):
            with socket.create_connection(place) as client:
                client.sendall(data)

        with self.subTest("a stranger's name"):
            for host in ("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.7", "", "[::2]"):
                self.assertEqual(status_of(talk(place, asking("/", host))), 421, host)
                self.assertNotIn(b"kernel", talk(place, asking("/api/entries", host)))
            self.assertNotEqual(status_of(talk(place, b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n")), 200)
            for host in ("localhost", "127.0.0.1", f"localhost:{place[1]}", "[::1]"):
                self.assertEqual(status_of(talk(place, asking("/", host))), 200, host)

        with self.subTest("paths that lead elsewhere"):
            for path in ("/../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/api/../../x", "/page.css/..",
                         "/api/entries/../../../etc/passwd", "/api/entries/" + "f" * 63, "/api/entries/" + "f" * 64, "/.git/config"):
                answer = talk(place, asking(path))
                self.assertIn(status_of(answer), (400, 404), path)
                self.assertNotIn(b"root:", answer)

        with self.subTest("arguments that are none"):
            for query in ("sort=x", "from=-1", "count=201", "count=99999999999999999999999", "from=1e3"):
                self.assertEqual(status_of(talk(place, asking("/api/entries?" + query))), 400, query)
            self.assertEqual(json.loads(get(address + "api/entries?from=99999999999")[2])["entries"], [])

        with self.subTest("requests that are too large or no HTTP"):
            self.assertIn(status_of(talk(place, asking("/", more="X-Large: " + "a" * 100_000 + "\r\n"))), (0, 413, 431))
            self.assertIn(status_of(talk(place, asking("/" + "a" * 100_000))), (0, 413, 414, 431))
            for data in (b"\x16\x03\x01\x02\x00\x01\x00\x01", b"\x00" * 64 + b"\r\n\r\n", b"GET\r\n\r\n", b"\r\n" * 40):
                with socket.create_connection(place) as client:
                    client.sendall(data)
            for method in ("DELETE", "PUT", "OPTIONS", "BREW"):
                self.assertEqual(get(address, method=method)[0], 405, method)

        with self.subTest("changes, which nobody allowed"):
            for path in ("api/reset", "api/gc", "api/remove?key=" + "0" * 64):
                self.assertEqual(get(address + path, {"X-Hearth": "change"}, "POST")[0], 403)
                self.assertEqual(get(address + path)[0], 404)

        with self.subTest("a thousand at once"):
            many = [socket.create_connection(place) for _ in range(1000)]
            for client in many:
                client.sendall(asking("/api/page"))
            answered = 0
            for client in many:
                answer = b""
                while part := client.recv(1 << 20):
                    answer += part
                answered += status_of(answer) == 200 and json.loads(answer.partition(b"\r\n\r\n")[2])["stats"]["stores"] == 1
                client.close()
            self.assertEqual(answered, 1000)

        with self.subTest("headers that keep a browser from mischief"):
            headers = get(address)[1]
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual(headers["X-Content-Type-Options"], "nosniff")
            self.assertEqual(headers["Referrer-Policy"], "no-referrer")
            self.assertEqual(get(address + "healthz")[2], "ok\n")

        # However busily they trickle, they are sent away in the end.
        left = set(slow)

        def all_are_sent_away():
            for client in list(left):
                try:
                    client.send(b"x")
                except OSError:
                    left.discard(client)
            for client in select.select(list(left), [], [], 0.2)[0]:
                left.discard(client)
            return not left

        eventually("all who trickle are sent away", all_are_sent_away)
        for client in slow:
            client.close()


class Names(CacheTest):
    def test_a_name_that_it_was_given_is_answered_and_printed(self):
        address = self.serve("--host", "cache.example", "--host", "other.example")
        self.assertTrue(address.startswith("http://cache.example:"), address)
        place = ("127.0.0.1", place_of(address)[1])
        for host, status in (("cache.example", 200), ("other.example:80", 200), ("localhost", 200), ("evil.example", 421), ("x.cache.example", 421)):
            self.assertEqual(status_of(talk(place, asking("/", host))), status, host)


class Tokens(CacheTest):
    def test_a_token_is_demanded_where_others_can_connect(self):
        address = self.serve("--bind", "0.0.0.0")
        bare, _, token = address.partition("?token=")
        self.assertIn(socket.gethostname(), bare)
        bare = bare.replace(socket.gethostname(), "127.0.0.1")
        self.assertGreaterEqual(len(token), 32)
        self.assertEqual(get(bare)[0], 401)
        self.assertEqual(get(bare + "metrics")[0], 401)
        self.assertEqual(get(bare + "?token=" + "0" * len(token))[0], 401)
        self.assertEqual(get(bare, {"Authorization": "Bearer " + token[:-1]})[0], 401)
        self.assertEqual(get(bare + "metrics", {"Authorization": "Bearer " + token})[0], 200)
        self.assertEqual(get(bare, {"Authorization": "Bearer " + token, "Host": "evil.example"})[0], 421)
        # The address that was printed becomes a cookie, and the token leaves the address bar.
        answer = talk(place_of(bare), asking("/?token=" + token))
        self.assertEqual(status_of(answer), 303)
        cookie = re.search(rb"Set-Cookie: ([^;]+); Path=/; HttpOnly; SameSite=Lax", answer)[1].decode()
        self.assertEqual(get(bare, {"Cookie": cookie})[0], 200)

    def test_changes_need_the_token_and_a_header_that_no_other_page_can_send(self):
        self.hearth("put", "kernel", __file__)
        token_file = pathlib.Path(self.folder, "token")
        token_file.write_text("0123456789abcdef\n")
        address = self.serve("--allow-changes", "--token-file", str(token_file))
        right = {"Authorization": "Bearer 0123456789abcdef", "X-Hearth": "change"}
        host = urllib.parse.urlsplit(address).netloc
        self.assertEqual(get(address + "api/reset", {"X-Hearth": "change"}, "POST")[0], 401)
        for wrong in ({"X-Hearth": ""}, {"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Origin": "null"}):
            self.assertEqual(get(address + "api/reset", {**right, **wrong}, "POST")[0], 403, wrong)
        self.assertEqual(self.stats()["stores"], 1)
        self.assertEqual(get(address + "api/reset", {**right, "Origin": "http://" + host}, "POST")[0], 200)
        self.assertEqual(self.stats()["stores"], 0)
        key = json.loads(self.hearth("ls", "--json").stdout)["key"]
        self.assertEqual(get(address + "api/remove?key=nonsense", right, "POST")[0], 400)
        self.assertEqual(json.loads(get(address + "api/remove?key=" + key, right, "POST")[2]), {"removed_entries": 1})
        self.assertEqual(self.hearth("ls", "--json").stdout, "")
        self.assertEqual(json.loads(get(address + "api/gc", right, "POST")[2])["removed_entries"], 0)


class Fields(CacheTest):
    def test_docs_json_lists_every_field(self):
        page = pathlib.Path(os.environ["HEARTH_SOURCE"], "docs", "json.md").read_text()
        listed = {}
        for section in page.split("\n## ")[1:]:
            heading, _, text = section.partition("\n")
            if "/api/" in heading:
                listed[heading.rpartition(" ")[2]] = set(re.findall(r"^\| `([^`]+)` \|", text, re.M))

        def fields(value, known, at=""):
            if at in known or not isinstance(value, (dict, list)) or not value:
                return {at}
            if at + ".*" in known:
                return {at + ".*"}
            parts = [(at + "[]", one) for one in value] if isinstance(value, list) else [(f"{at}.{n}".lstrip("."), v) for n, v in value.items()]
            return set().union(*(fields(v, known, name) for name, v in parts))

        self.fill(40)
        address = self.serve()
        eventually("the entries are ready", lambda: json.loads(get(address + "api/entries")[2])["ready"])
        compiled = next(e for e in json.loads(get(address + "api/events")[2]) if e["kind"] == "compile")
        of_entry = {name.removeprefix("entries[].") for name in listed["/api/entries"] if name.startswith("entries[]")}
        listed["/api/entries/KEY"] |= of_entry
        for path, known in listed.items():
            if path in ("/api/stats", "/api/reset"):  # as `hearth stats --json`; tests of changes
                continue
            told = json.loads(get(address + path[1:].replace("KEY", compiled["key"]))[2])
            said = fields(told, known)
            self.assertLessEqual(said - {"nearest", "differences"}, known, path)  # these may be hollow
            hollow = {name for name in known if name.startswith(("nearest.", "differences[]"))}
            self.assertLessEqual(known - hollow, said, path)


class Starting(CacheTest):
    def test_what_cannot_be_listened_on_is_said(self):
        def problem(*words):
            result = self.hearth("serve", *words)
            self.assertNotEqual(result.returncode, 0)
            self.assertTrue(result.stderr.startswith("hearth: "), result.stderr)
            return result.stderr

        with socket.create_server(("127.0.0.1", 0)) as taken:
            self.assertIn("is in use. Choose another port", problem("--port", str(taken.getsockname()[1])))
        self.assertIn("no address 192.0.2.1", problem("--port", "0", "--bind", "192.0.2.1"))
        self.assertIn('"example.org" is no address', problem("--bind", "example.org"))
        for port in ("-1", "65536", "http"):
            self.assertIn("is no port", problem("--port=" + port))
        self.assertIn("absent", problem("--token-file", "absent"))
        pathlib.Path(self.folder, "short").write_text("short\n")
        self.assertIn("at least 16 letters", problem("--token-file", "short"))

    def test_signals_end_it_cleanly(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.assertIn("http://127.0.0.1:", self.serve())
            self.assertEqual(self.stop(self.server, number), "")


if __name__ == "__main__":
    unittest.main(verbosity=2)

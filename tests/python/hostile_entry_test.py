"""Entries that anybody may have put on a server, as the adapters of frameworks read them: a miss, and never an error in
the program. The adapters' own code runs. Of the frameworks themselves there are shells here that read what they are given
as the real ones do; where Triton is installed, triton_test feeds it some of these entries too."""

import base64
import json
import os
import sys
import tempfile
import textwrap

import support

# What the adapters need of the frameworks.
_SHELLS = {
    "triton/__init__.py": "__version__ = '3.6.0'\n",
    "triton/knobs.py": "class cache:\n    manager_class = None\nclass compilation:\n    always_compile = False\n",
    "triton/compiler/__init__.py": "",
    "triton/compiler/compiler.py": """
        import json
        from collections import namedtuple
        GPUTarget = namedtuple("GPUTarget", "backend arch warp_size")
        class Backend:
            binary_ext = "cubin"
            def pack_metadata(self, metadata):
                return metadata.num_warps, metadata.num_ctas, metadata.shared
        def make_backend(target):
            return {"cuda": Backend()}[target.backend]
        class CompiledKernel:
            def __init__(self, src, group, hash):
                path = next(path for name, path in group.items() if name.endswith(".json"))
                with open(path) as file:
                    metadata = json.load(file)
                target = metadata["target"]
                make_backend(GPUTarget(target["backend"], target["arch"], target["warp_size"]))
                metadata = namedtuple("Metadata", sorted(metadata))(**metadata)
                self.name = metadata.name
                for name, path in group.items():
                    with open(path, "rb" if name.endswith(".cubin") else "r") as file:
                        file.read()
        """,
    "triton/runtime/__init__.py": "",
    "triton/runtime/autotuner.py": """
        class Config:
            def __init__(self, kwargs, num_warps=4, num_stages=3, num_ctas=1, maxnreg=None, pre_hook=None, ir_override=None):
                self.__dict__.update(locals())
                del self.self
            def all_kwargs(self):
                return {**self.kwargs, "num_warps": self.num_warps, "num_stages": self.num_stages}
            def __hash__(self):
                return hash((*self.all_kwargs().items(), self.pre_hook))
            def __eq__(self, other):
                return self.all_kwargs() == other.all_kwargs() and self.pre_hook == other.pre_hook
        """,
    "triton/runtime/cache.py": """
        import json, os
        class FileCacheManager:
            def __init__(self, key, override=False, dump=False):
                self.key, self.cache_dir = key, os.path.join(os.environ["TRITON_CACHE_DIR"], key)
            def _make_path(self, name):
                return os.path.join(self.cache_dir, name)
            def has_file(self, name):
                return os.path.exists(self._make_path(name))
            def get_file(self, name):
                return self._make_path(name) if self.has_file(name) else None
            def get_group(self, name):
                if not self.has_file("__grp__" + name):
                    return None
                with open(self._make_path("__grp__" + name)) as file:
                    return json.load(file)["child_paths"]
            def put_group(self, name, group):
                return self.put(json.dumps({"child_paths": group}), "__grp__" + name)
            def put(self, data, name, binary=True):
                os.makedirs(self.cache_dir, exist_ok=True)
                with open(self._make_path(name), "wb") as file:
                    file.write(data if isinstance(data, bytes) else data.encode())
                return self._make_path(name)
        """,
    "torch/__init__.py": "__version__ = '2.11.0'\n",
    "torch/_inductor/__init__.py": "",
    "torch/_inductor/remote_cache.py": """
        class RemoteCacheBackend:
            def get(self, name):
                return self._get(name)
        class RedisRemoteCache:
            backend_override_cls = None
        """,
    "jax/__init__.py": "__version__ = '0.10.0'\n",
    "jax/_src/__init__.py": "",
    "jax/_src/compilation_cache.py": "get_file_cache = None\n",
    "jax/_src/compilation_cache_interface.py": "class CacheInterface:\n    pass\n",
    "cuda/__init__.py": "",
    "cuda/core/__init__.py": "",
    "cuda/core/utils.py": "class ProgramCacheResource:\n    pass\n",
}

# Puts an entry where an adapter reads it, reads it there, and says what that gave and which files are there afterwards.
_READER = """
    import base64, json, os, sys
    import hearth
    from hearth import _frameworks
    import hearth.triton, hearth.inductor, hearth.jax, hearth.cuda_core
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.autotuner import Config
    # What the frameworks do with what they get.
    def tune(path):
        with open(path) as file:
            timings = {Config(**config): timing for config, timing in json.load(file)["configs_timings"]}
        min(timings, key=timings.get)
    def take(name, data):
        value = json.loads(data)
        if "bundled" in name:
            for file, tuned in value.items():
                assert os.path.realpath(os.path.join("/torch/aa", file)) == "/torch/aa/" + file
                int(tuned.get("time_saved_ns", 0))
        elif "fx-graph" not in name:
            value.pop("num_warps"), value.pop("num_stages"), value.pop("time_taken_ms", None)
    def used(answer, use):
        if answer is not None:
            use(answer)
        return answer
    def kernel():
        manager = hearth.triton.CacheManager("KEY")
        return manager._key("add.json"), lambda: used(
            manager.get_group("add.json"), lambda group: CompiledKernel(None, group, ""))
    def launcher():
        manager = hearth.triton.CacheManager("KEY")
        return manager._key("launcher.so"), lambda: manager.get_file("launcher.so")
    def tuned():
        manager = hearth.triton.CacheManager("KEY")
        return manager._key("add.autotune.json"), lambda: used(manager.get_file("add.autotune.json"), tune)
    def torch_of(name):
        return hearth.inductor._key(name), lambda: used(hearth.inductor.Backend().get(name), lambda data: take(name, data))
    def of_jax():
        cache = hearth.jax.Cache("x", None)
        return cache._key("jit_f-12"), lambda: cache.get("jit_f-12")
    def of_cuda_core():
        cache = hearth.cuda_core.ProgramCache()
        def get():
            try:
                return cache["k"]
            except KeyError:
                return None
        return hearth.cuda_core._key("k"), get
    places = {"kernel": kernel, "launcher": launcher, "tuned": tuned, "jax": of_jax, "cuda_core": of_cuda_core}
    for place, sections in json.load(sys.stdin):
        key, get = places[place]() if place in places else torch_of(place)
        data = {name: base64.b64decode(text) for name, text in sections.items()}
        try:
            hearth.Cache.shared().put(key, data)
        except (hearth.Error, ValueError):
            print(json.dumps(["refused", []]))  # such an entry cannot be made
            continue
        try:
            answer = "miss" if get() is None else "hit"
        except BaseException as error:
            answer = repr(error)[:200]
        files = [os.path.join(where, name) for where, _, names in os.walk(os.environ["ROOT"]) for name in names]
        print(json.dumps([answer, sorted(os.path.relpath(file, os.environ["ROOT"]) for file in files)]))
    """

_METADATA = {
    "name": "add",
    "target": {"backend": "cuda", "arch": 90, "warp_size": 32},
    "shared": 0,
    "num_warps": 4,
    "num_ctas": 1,
    "cluster_dims": [1, 1, 1],
    "hash": "ab",
    "ir_override": None,
}
_TUNED = {
    "key": ["x", 1],
    "configs_timings": [
        [{"kwargs": {"BLOCK": 64}, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "pre_hook": None}, [0.1, 0.1, 0.1]],
        [{"kwargs": {"BLOCK": 32}, "num_warps": 4, "num_stages": 3, "num_ctas": 1, "pre_hook": None}, [0.2, 0.2, 0.2]],
    ],
}
_BEST = {"BLOCK": 64, "num_warps": 4, "num_stages": 3, "configs_hash": "ab", "found_by_coordesc": True, "time_taken_ms": 2}
_BUNDLED, _SINGLE, _GRAPH = "pt2:bundled-autotune-v1::k:c1", "pt2:ab12::k:c1", "pt2:fx-graph-v1::k:c1"
_BUNDLE = {"0a" * 32 + ".best_config": _BEST}

# In the place of any value.
_WRONG = [[], {}, "x\0y", "\ud800", -1, 1e999, float("nan"), True, None, "../../up", "/abs", 10**30, [[[]]], {"": {"": 0}}]

_DEEP = [opening * 100_000 for opening in (b"[", b'{"a":', b"[[],")]
_NO_JSON = [b"", b'\\"' * (1 << 20), b"\0", b"\xff\xfe", b"{", b'{"a"', b"nul", b"\xed\xa0\x80", b"[" + b"9" * 100_000 + b"]", b"1" * 5000, *_DEEP]


def mutants(value, replace=lambda new: new):
    """The JSON with a wrong value in each place, and with each name gone, doubled or wrong."""
    for wrong in _WRONG:
        yield replace(wrong)
    if isinstance(value, dict):
        for name in value:
            rest = {other: value[other] for other in value if other != name}
            yield replace(rest)
            for wrong in ("", "..", "/abs/x", "a\0b", "class", "\ud800", "../../up.best_config", name + "/../../x"):
                yield replace({**rest, wrong: value[name]})
            yield from mutants(value[name], lambda new, rest=rest, name=name: replace({**rest, name: new}))
    if isinstance(value, list):
        for place, item in enumerate(value):
            yield from mutants(item, lambda new, place=place: replace([*value[:place], new, *value[place + 1 :]]))


class HostileEntries(support.FolderTest):
    def setUp(self):
        super().setUp()
        self.write({"shells/" + name: text for name, text in _SHELLS.items()})

    def read(self, entries):
        """What each gave, and the files below Triton's directory and beside it."""
        given = [
            (place, {name: base64.b64encode(data).decode() for name, data in sections.items()})
            for place, sections in entries
        ]
        paths = os.pathsep.join([self.path("shells"), support.SAME_PACKAGE["PYTHONPATH"]])
        with tempfile.TemporaryDirectory() as root:
            own = {"PYTHONPATH": paths, "ROOT": root, "TRITON_CACHE_DIR": os.path.join(root, "triton")}
            words = [sys.executable, "-c", textwrap.dedent(_READER)]
            done = self.start(words, self.environment(HEARTH_LOG="off", **own), input=json.dumps(given))
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        return [json.loads(line) for line in done.stdout.splitlines()]

    def assert_answers(self, allowed, entries):
        """What was answered, and which files were written."""
        answers = self.read(entries)
        self.assertEqual(len(answers), len(entries))
        wrong = [(entry, answer) for entry, (answer, _) in zip(entries, answers) if answer not in allowed]
        self.assertEqual(wrong[:3], [], f"{len(wrong)} of {len(entries)}")
        return {answer for answer, _ in answers}, {file for _, files in answers for file in files}

    def assert_misses(self, entries):
        return self.assert_answers(("miss", "refused"), entries)[1]

    def assert_nothing_is_raised(self, entries):
        answers, files = self.assert_answers(("hit", "miss", "refused"), entries)
        self.assertIn("miss", answers)
        return files

    def test_entries_that_are_whole_are_hits(self):
        answers = self.read(
            [
                ("kernel", {"add.json": encoded(_METADATA), "add.ptx": b"ptx", "add.cubin": b"\x7fELF"}),
                ("launcher", {"": b"\x7fELF"}),
                ("tuned", {"": encoded(_TUNED)}),
                (_GRAPH, {"bytes": encoded({"data": "QUJD", "time_taken_ms": 3})}),
                (_SINGLE, {"bytes": encoded(_BEST)}),
                (_BUNDLED, {"bytes": encoded(_BUNDLE)}),
                ("jax", {"": b"xla"}),
                ("cuda_core", {"": b"cubin"}),
            ]
        )
        self.assertEqual([answer for answer, _ in answers], ["hit"] * 8)

    def test_configurations_that_make_a_table_slow_are_a_miss(self):
        def tuned(settings):
            measured = [[{"kwargs": kwargs}, [float(place)]] for place, kwargs in enumerate(settings)]
            return ("tuned", {"": encoded({"configs_timings": measured})})

        most = [{"BLOCK": number} for number in range(2**53 - 1000, 2**53)]
        self.assertEqual([answer for answer, _ in self.read([tuned(most), tuned([{"ALPHA": -0.5}])])], ["hit"] * 2)
        of_one_hash = [{"A": first, "B": second} for first in (-1, -2) for second in (-1, -2)]
        too_large = [[{"BLOCK": number}] for number in (2**53, -(2**53), 2**61 - 1, 2.0**61, float("nan"))]
        self.assert_misses([tuned(settings) for settings in ([*most, {"BLOCK": 1}], of_one_hash, *too_large)])

    def test_metadata_of_more_names_than_a_kernel_has_is_a_miss(self):
        def kernel(names):
            more = {f"option_{number}": 0 for number in range(names - len(_METADATA))}
            return ("kernel", {"add.json": encoded({**_METADATA, **more}), "add.cubin": b"\x7fELF"})

        self.assertEqual([answer for answer, _ in self.read([kernel(256)])], ["hit"])
        self.assert_misses([kernel(257)])

    def test_a_kernels_files_are_those_that_triton_asks_for_and_no_others(self):
        whole = {"add.json": encoded(_METADATA), "add.cubin": b"\x7fELF"}
        names = ["__grp__add.json", "__grp__other.json", "other.ptx", "lock", "add.so", "add.py", "", ".", "..", "../x.ptx",
                 "/tmp/add.ptx", "add.ptx/../../x", "add.PTX", "add", "add.ptx\n", " add.ptx", "add.autotune.json"]  # fmt: skip
        entries = [("kernel", {**whole, name: b"{}"}) for name in names]
        entries += [("kernel", {"add.cubin": b"\x7fELF"}), ("kernel", {"other.json": whole["add.json"]})]
        self.assertEqual(self.assert_misses(entries), set())

    def test_other_sections_than_the_one_that_is_read_are_a_miss(self):
        places = {"launcher": "", "tuned": "", "jax": "", "cuda_core": "", _GRAPH: "bytes", _SINGLE: "bytes"}
        self.assert_misses([(place, {"x" + name: b"{}"}) for place, name in places.items()])
        self.assert_misses([(place, {name: b"{}", "more": b""}) for place, name in places.items()])

    def test_what_is_no_json_or_nested_without_end_is_a_miss(self):
        self.assert_misses([("tuned", {"": data}) for data in _NO_JSON])
        self.assert_misses([("kernel", {"add.json": data, "add.cubin": b"\x7fELF"}) for data in _NO_JSON])
        for name in (_GRAPH, _SINGLE, _BUNDLED):
            self.assert_misses([(name, {"bytes": data}) for data in _NO_JSON])

    def test_a_value_of_another_type_in_any_place_raises_nothing(self):
        written = self.assert_nothing_is_raised(
            [("kernel", {"add.json": encoded(one), "add.cubin": b"\x7fELF"}) for one in mutants(_METADATA)]
        )
        self.assertLessEqual(written, {f"triton/KEY/{name}" for name in ("add.json", "add.cubin", "__grp__add.json")})
        self.assert_nothing_is_raised([("tuned", {"": encoded(one)}) for one in mutants(_TUNED)])
        for name, value in ((_SINGLE, _BEST), (_BUNDLED, _BUNDLE), (_GRAPH, {"data": "QUJD"})):
            self.assert_nothing_is_raised([(name, {"bytes": encoded(one)}) for one in mutants(value)])

    def test_no_entry_names_a_file_that_a_framework_reads_or_writes(self):
        tuned = {**_TUNED, "configs_timings": [[{"kwargs": {}, "ir_override": "/tmp/mine.ptx"}, [0.1]]]}
        self.assert_misses([("tuned", {"": encoded(tuned)})])
        kernel = {**_METADATA, "ir_override": "/tmp/mine.ptx"}
        self.assert_misses([("kernel", {"add.json": encoded(kernel), "add.cubin": b"\x7fELF"})])
        names = ["../../.config/x", "/tmp/x.best_config", "x", ".best_config", "a/b.best_config", "a\n.best_config"]
        self.assert_misses([(_BUNDLED, {"bytes": encoded({name: _BEST})}) for name in names])


def encoded(value):
    return json.dumps(value).encode()


if __name__ == "__main__":
    support.main()

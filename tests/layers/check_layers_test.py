#!/usr/bin/env python3
"""Shows that check_layers.py accepts a tree in order and catches each way an include can go wrong."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

import check_layers

IN_ORDER = {
    "include/hearth/bytes.hpp": "#include <vector>",
    "include/hearth/tier.hpp": '#include "hearth/bytes.hpp"',
    "include/hearth/cache.hpp": '#include "hearth/tier.hpp"',
    "src/base/files.hpp": '#include "hearth/bytes.hpp"\n#include <sys/stat.h>',
    "src/format/entry.hpp": '#include "base/files.hpp"\n#include <zstd.h>',
    "src/policy/lru.hpp": '#include "base/files.hpp"',
    "src/gpu/device.hpp": '#include "base/files.hpp"',
    "src/engine/engine.hpp": '#include "hearth/cache.hpp"\n#include "policy/lru.hpp"',
    "src/tiers/disk/shard/shard.hpp": '#include "format/entry.hpp"',
    "src/tiers/disk/disk_tier.hpp": '#include "tiers/disk/shard/shard.hpp"\n#include "hearth/tier.hpp"',
    "src/tiers/memory/memory_tier.hpp": '#include "policy/lru.hpp"',
    "src/compilers/common/facts.hpp": '#include "hearth/cache.hpp"\n#include "format/entry.hpp"',
    "src/compilers/ptx/ptx.hpp": '#include "gpu/device.hpp"\n#include "compilers/common/facts.hpp"',
    "src/config/open.cpp": '#include "engine/engine.hpp"\n#include "tiers/disk/disk_tier.hpp"',
    "src/run_log/log.hpp": '#include "hearth/tier.hpp"\n#include "base/files.hpp"',
    "tools/hearth/main.cpp": '#include "terminal/output.hpp"\n#include "hearth/cache.hpp"\n#include <CLI/CLI.hpp>',
    "tools/hearth/terminal/output.hpp": '#include <string>\n#include "run_log/log.hpp"',
    "tests/support/scratch.hpp": '#include "base/files.hpp"',
    "bench/disk.cpp": '#include "tiers/disk/disk_tier.hpp"\n#include "support/scratch.hpp"',
    "examples/demo/main.cpp": '#include "hearth/cache.hpp"',
}


class CheckLayers(unittest.TestCase):
    def problems(self, files=None):
        """What the checker says of the tree in order with these files added or replaced."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**IN_ORDER, **(files or {})}.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text + "\n")
            return check_layers.check(folder)[0]

    @staticmethod
    def of_compiled(check, sources):
        """What `check` says of a build folder with the objects of these sources."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in sources.items():
                path = pathlib.Path(folder, "src/CMakeFiles", name)
                path.parent.mkdir(parents=True)
                path.write_text(text)
                subprocess.run(["c++", "-std=c++17", "-c", str(path), "-o", f"{path}.o"], check=True)
            return check(folder)

    def assert_caught(self, name, include, *, saying):
        found = self.problems({name: IN_ORDER.get(name, "") + "\n" + include})
        self.assertEqual(len(found), 1, f"{include} in {name}: {found}")
        self.assertIn(name + ":", found[0])
        self.assertIn(saying, found[0])

    def test_a_tree_in_order_passes(self):
        self.assertEqual(self.problems(), [])

    def test_an_include_of_a_higher_layer_is_caught(self):
        self.assert_caught("src/base/log.cpp", '#include "format/entry.hpp"', saying="base may not use")
        self.assert_caught("src/policy/gdsf.cpp", '#include "engine/engine.hpp"', saying="policy may not use")
        self.assert_caught("src/engine/stats.cpp", '#include "config/open.cpp"', saying="engine may not use")

    def test_an_include_of_a_layer_beside_is_caught(self):
        self.assert_caught("src/format/key.cpp", '#include "policy/lru.hpp"', saying="format may not use")
        self.assert_caught("src/engine/find.cpp", '#include "tiers/disk/disk_tier.hpp"', saying="engine may not use")
        self.assert_caught("src/tiers/disk/flight.cpp", '#include "engine/engine.hpp"', saying="tiers/disk may not use")
        self.assert_caught("src/compilers/ptx/key.cpp", '#include "engine/engine.hpp"', saying="compilers/ptx may not")

    def test_one_tier_including_another_is_caught(self):
        self.assert_caught("src/tiers/memory/table.cpp", '#include "tiers/disk/disk_tier.hpp"', saying="tiers/disk")

    def test_a_tool_that_reaches_into_the_library_is_caught(self):
        self.assert_caught("tools/hearth/gc.cpp", '#include "format/entry.hpp"', saying="only include/hearth, base")
        self.assert_caught("tools/hearth/gc.cpp", "#include <format/entry.hpp>", saying="only include/hearth, base")
        self.assert_caught("examples/demo/two.cpp", '#include "tiers/disk/disk_tier.hpp"', saying="only include/hearth")

    def test_a_tool_that_uses_a_test_is_caught(self):
        self.assertIn("is not a file of this project",
                      self.problems({"tools/hearth/gc.cpp": '#include "support/scratch.hpp"'})[0])

    def test_what_is_reached_through_another_file_counts(self):
        # The public header is in order by itself, and so is its own include of the cache.
        found = self.problems({"include/hearth/bytes.hpp": "#include <vector>", "include/hearth/vram.hpp":
                               '#include "hearth/cache.hpp"', "src/gpu/device.hpp": '#include "hearth/vram.hpp"'})
        self.assertIn("src/gpu/device.hpp:1: hearth/vram.hpp leads to include/hearth/cache.hpp, which knows the whole "
                      "cache, and gpu stands below it", found)

    def test_a_wrong_step_is_said_where_it_is(self):
        found = self.problems({"src/base/files.hpp": '#include "format/entry.hpp"', "src/format/entry.hpp": ""})
        self.assertEqual([problem.split(":")[0] for problem in found], ["src/base/files.hpp"], found)

    def test_a_place_may_use_what_its_places_may_use(self):
        for place, uses in check_layers.LAYERS.items():
            for used in uses:
                self.assertLessEqual(check_layers.LAYERS[used], uses, f"{place} uses {used}")

    def test_a_public_header_that_needs_more_than_the_standard_library_is_caught(self):
        self.assert_caught("include/hearth/log.hpp", "#include <fmt/format.h>", saying="neither a standard header")
        self.assert_caught("include/hearth/log.hpp", "#include <unistd.h>", saying="neither a standard header")
        self.assert_caught("include/hearth/log.hpp", '#include "base/files.hpp"', saying="neither a standard header")

    def test_a_tier_that_knows_the_cache_is_caught(self):
        self.assert_caught("src/tiers/disk/x.cpp", '#include "hearth/cache.hpp"', saying="stands below it")

    def test_a_layer_below_the_cache_that_uses_its_users_is_caught(self):
        self.assert_caught("src/engine/find.cpp", '#include "compilers/common/facts.hpp"', saying="engine may not use")

    def test_ways_around_the_check_are_caught(self):
        self.assert_caught("src/base/x.cpp", '#include "../format/entry.hpp"', saying="goes up through ..")
        self.assert_caught("src/base/x.cpp", '  #  include "format/entry.hpp"', saying="base may not use")
        self.assert_caught("src/base/x.cpp", '#include "files.hpp"', saying="base/files.hpp")
        self.assert_caught("src/base/x.cpp", '#include "nowhere.hpp"', saying="not a file of this project")

    def test_what_is_commented_out_is_no_include(self):
        self.assertEqual(self.problems({"src/base/x.cpp": '// #include "engine/engine.hpp"'}), [])
        self.assertEqual(self.problems({"src/base/x.cpp": '/*\n#include "engine/engine.hpp"\n*/'}), [])

    def test_a_file_in_no_layer_is_caught(self):
        self.assertIn("lies in no layer", self.problems({"src/misc/x.cpp": ""})[0])
        self.assertIn("lies in no layer", self.problems({"src/tiers/x.cpp": ""})[0])

    @unittest.skipUnless(shutil.which("c++") and shutil.which("nm"), "needs a compiler")
    def test_a_call_of_what_a_higher_layer_defines_is_caught(self):
        sources = {"hearth_base.dir/text.cpp": "int name_of(int); int text() { return name_of(1); }",
                   "hearth_engine.dir/names.cpp": "int text(); int name_of(int) { return 2; } int all() { return text(); }",
                   "hearth_compilers_ptx.dir/ptx.cpp": "int name_of(int); int ptx() { return name_of(1); }"}
        found = self.of_compiled(check_layers.check_calls, sources)
        self.assertEqual(len(found), 1, found)
        self.assertIn("base: text.cpp calls name_of(int), which is defined in engine", found[0])

    @unittest.skipUnless(shutil.which("c++") and shutil.which("readelf"), "needs a compiler")
    def test_a_static_that_its_first_caller_makes_is_caught(self):
        source = """
            int made();
            namespace hearth::base {
            int table() { static int s_table = made(); return s_table; }
            int constant() { static int s_constant = 7; return ++s_constant; }
            int of_thread() { static thread_local int t_own = made(); return t_own; }
            struct Node { int about() const { static int s_about = made(); return s_about; } };
            int about() { return Node().about(); }
            auto in_lambda = [] { static int s_in_lambda = made(); return s_in_lambda; };
            int lambda() { return in_lambda(); }
            template <class T> inline int g_at_load = made();
            int at_load() { return g_at_load<int>; }
            }
            extern "C" int hearth_open() { static int s_open = made(); return s_open; }"""
        found = self.of_compiled(check_layers.check_statics, {"hearth_base.dir/x.cpp": source})
        names = [problem.split(" is made by its first caller")[0].split("::")[-1] for problem in found]
        self.assertEqual(sorted(names), ["s_about", "s_in_lambda", "s_open", "s_table"], found)

    def test_a_cycle_is_caught(self):
        found = self.problems({"src/base/a.hpp": '#include "base/b.hpp"', "src/base/b.hpp": '#include "base/c.hpp"',
                               "src/base/c.hpp": '#include "base/a.hpp"'})
        self.assertEqual(found, ["cycle of includes: src/base/a.hpp -> src/base/b.hpp -> src/base/c.hpp -> "
                                 "src/base/a.hpp"])


if __name__ == "__main__":
    unittest.main(verbosity=2)

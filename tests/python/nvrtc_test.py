"""hearth.nvrtc with the real compiler. Skipped where there is none."""

import hearth
from support import CacheTest, main

SOURCE = """
#include "factor.h"
template <class T> __global__ void scale(T* values, T by) { values[threadIdx.x] *= by * FACTOR; }
"""


class Nvrtc(CacheTest):
    def compile(self, source, **more):
        try:
            return hearth.nvrtc.compile(source, target="sm_90", cache=self.cache, **more)
        except hearth.Error as error:
            if error.status in (hearth.Status.UNAVAILABLE, hearth.Status.NOT_FOUND):
                self.skipTest(str(error))
            raise

    def test_a_program_is_compiled_once_with_all_that_belongs_to_it(self):
        given = {"headers": {"factor.h": "#define FACTOR 2"}, "name_expressions": ["scale<float>"], "name": "scale.cu"}
        first = self.compile(SOURCE, **given)
        again = self.compile(SOURCE, **given)
        self.assertEqual((first.outcome, again.outcome), ("compiled", "hit"))
        self.assertEqual(bytes(first.cubin[:4]), b"\x7fELF")
        self.assertEqual(first.cubin, again.cubin)
        self.assertIn(again.lowered_name("scale<float>").encode(), bytes(again.ptx))
        with self.assertRaises(KeyError):
            again.lowered_name("scale<int>")
        self.assertEqual(first.log, again.log)
        self.assertEqual(list(again.sections), ["ptx", "cubin"])

    def test_a_header_that_was_edited_counts(self):
        compiled = []
        for factor in (2, 3, 2):
            self.write({"factor.h": f"#define FACTOR {factor}"})
            compiled.append(self.compile(SOURCE + "template __global__ void scale(float*, float);",
                                         options=["-I", self.folder]))
        self.assertEqual([program.outcome for program in compiled], ["compiled", "compiled", "hit"])
        self.assertEqual(compiled[0].ptx, compiled[2].ptx)
        self.assertNotEqual(compiled[0].ptx, compiled[1].ptx)

    def test_a_program_that_does_not_compile_is_an_error_with_its_log(self):
        for _ in range(2):
            with self.assertRaisesRegex(hearth.Error, r"bad\.cu\(1\): error") as raised:
                self.compile("__global__ void k() { none(); }", name="bad.cu")
            self.assertEqual(raised.exception.status, hearth.Status.COMPILE_FAILED)

    def test_wrong_types_are_told_what_is_right(self):
        for error, source, more, why in [
            (TypeError, b"bytes", {}, "The source has to be a str"),
            (TypeError, "", {"options": "-O2"}, "options has to be a list of str"),
            (TypeError, "", {"headers": {"a.h": b""}}, 'Header "a.h" has to be a str'),
            (ValueError, "a\0b", {}, "zero character"),
        ]:
            with self.assertRaisesRegex(error, why):
                self.compile(source, **more)


if __name__ == "__main__":
    main()

"""hearth.key() and hearth.Key."""

import pickle
import unittest

import hearth
from support import main


class Keys(unittest.TestCase):
    def test_a_key_is_the_same_in_every_language(self):
        # As hearth::Key::of("python test", "ab", std::uint64_t{7}) has it.
        key = hearth.key("python test", "ab", 7)
        self.assertEqual(key.hex(), "c5faa61d0eca3121378b47c2bae093188d43b17fba463b7b1d28be8904d4d2f3")

    def test_fields_differ_by_type_name_order_and_where_one_ends(self):
        keys = [
            hearth.key("d", *parts, **fields)
            for parts, fields in [
                ((), {}),
                ((1,), {}),
                ((True,), {}),
                (("1",), {}),
                ((b"1",), {}),
                ((["1"],), {}),
                (("ab", "c"), {}),
                (("a", "bc"), {}),
                ((["ab", "c"],), {}),
                ((["a", "bc"],), {}),
                (([],), {}),
                ((), {"a": 1, "b": 1}),
                ((), {"b": 1, "a": 1}),
                ((b"a\0b",), {}),
                ((b"a",), {}),
                ((2**64 - 1,), {}),
            ]
        ]
        keys.append(hearth.key("other", 1))
        self.assertEqual(len(set(keys)), len(keys))

    def test_what_is_equal_gives_equal_keys(self):
        self.assertEqual(hearth.key("d", b"ab"), hearth.key("d", bytearray(b"ab")))
        self.assertEqual(hearth.key("d", b"ab"), hearth.key("d", memoryview(b"ab")))
        self.assertEqual(hearth.key("d", ["x"]), hearth.key("d", ("x",)))

    def test_what_cannot_be_a_field_is_told_why(self):
        for error, value, why in [
            (ValueError, -1, "0 to 2\\*\\*64 - 1"),
            (ValueError, 2**64, "0 to 2\\*\\*64 - 1"),
            (ValueError, "a\0b", "zero character"),
            (TypeError, None, "NoneType"),
            (TypeError, 1.5, "float"),
            (TypeError, {"a": 1}, "dict"),
            (TypeError, [1], "has to be a str"),
            (ValueError, ["a\0"], "zero character"),
        ]:
            with self.subTest(value=value), self.assertRaisesRegex(error, why):
                hearth.key("d", value)
        with self.assertRaisesRegex(TypeError, "domain"):
            hearth.key(b"d")
        with self.assertRaisesRegex(ValueError, 'named "0"'):
            hearth.key("d", **{"0": "as the first part"})

    def test_a_key_goes_to_hexadecimal_digits_and_back(self):
        key = hearth.key("d", 1)
        self.assertEqual(hearth.Key.from_hex(key.hex().upper()), key)
        self.assertEqual(eval(repr(key)), key)
        self.assertEqual(pickle.loads(pickle.dumps(key)), key)
        self.assertNotEqual(key, key.digest)
        for wrong in ("12", "g" * 64, "", " ".join(key.hex()), key.hex() + " ", key.hex()[:62] + "  "):
            with self.assertRaisesRegex(ValueError, "64 hexadecimal digits"):
                hearth.Key.from_hex(wrong)
        with self.assertRaises(AttributeError):
            key.digest = b""
        with self.assertRaises(AttributeError):
            del key.digest


if __name__ == "__main__":
    main()

#include "format/request.hpp"

#include "base/digest.hpp"
#include "base/hex.hpp"
#include "base/wire.hpp"
#include "support/process.hpp"

#include <cctype>
#include <gtest/gtest.h>
#include <set>

namespace hearth::test {

namespace {

using Strings = std::vector<std::string>;

// A compile as a compiler would describe it; one member changed gives another.
struct Compile {
    std::string source = "extern \"C\" __global__ void saxpy(int n, float a, float* x, float* y) {}";
    std::string target = "sm_90";
    Strings options{"-std=c++20", "--use_fast_math"};
    std::string compiler = "nvrtc 12.4 build 34097967";
    bool debug = false;
    std::uint64_t registers = 64;

    Request request() const
    {
        return KeyBuilder("nvrtc")
            .text("source", source)
            .text("target", target)
            .list("options", options)
            .bytes("compiler", as_bytes(compiler))
            .flag("debug", debug)
            .number("registers", registers)
            .build();
    }
    Key key() const { return request().key(); }
};

struct Pinned {
    const char* what;
    Key key;
    const char* hex;
};

std::vector<Pinned> pinned_keys()
{
    Compile long_source;
    long_source.source = std::string(1000, 'x');
    Compile many_options;
    many_options.options = Strings(600, "-DNAME=VALUE");
    return {
        {"nothing but a domain", Key::of("test"), "ea07692d98fc6277767be1f72af9ed8c1797158a82f1ee601a70b9eba614f50e"},
        {"an empty domain", Key::of(""), "4aba9ed844f10f99e4cc81bbeef00283cedab3cc31c0ed6bcbfffa16bbdec4e3"},
        {"one text", Key::of("test", "a"), "3bf6df45a13a92318370d6f6b60933b750c8c25a4a7445b1895c2f8ed4db45b7"},
        {"a text, a number, a flag, a list, bytes",
         Key::of("ir", "v1", 42U, true, Strings{"ab", "c"}, Bytes::copy_of("\x01\x02")),
         "750d67f68e965eaea043b8caddfea9825bb49c62502711799426821c88e2aaf2"},
        {"a negative number", Key::of("test", -1), "0c7573d2a261acfb7a89a8f7d39b1270d0c620c950870afe8981a2952400ab40"},
        {"text of 128 bytes, the longest kept whole", Key::of("test", std::string(128, 'a')),
         "50ea010f7b876abd7e44d41d15440ab29beda67f0597aa5ff38cfaee0f07f93a"},
        {"text of 129 bytes, the shortest kept as its digest", Key::of("test", std::string(129, 'a')),
         "83db9281f1654ed6269a9484e83531b6a2d64691ffe6c873e8f5a72592a6f4dc"},
        {"a compile", Compile{}.key(), "3d57df818dd7cb02fad58508856c48f4c8bfa11a028c9cbb4ac5af471c1ee65a"},
        {"a compile of a long source", long_source.key(),
         "3be475bd9d89eb372e3c7c6a50c367ac16cd2b9a8daf39a57991d1cc09b4d41d"},
        {"a compile with many options", many_options.key(),
         "de765930212dda039b96ebf0603d3b30ed29b2b8ea5c85e53825913f5e88f4f1"},
    };
}

}  // namespace

// Capability 1.
TEST(RequestKey, one_byte_of_the_source_is_another_key)
{
    const Compile original;
    for (std::size_t at = 0; at < original.source.size(); ++at) {
        Compile changed;
        changed.source[at] = static_cast<char>(changed.source[at] ^ 1);
        EXPECT_NE(changed.key(), original.key()) << "byte " << at;
    }
    EXPECT_EQ(Compile{}.key(), original.key());
    // Of one that is kept as a digest too.
    Compile large;
    large.source = std::string(100000, 's');
    Compile changed = large;
    changed.source[77777] = 'S';
    EXPECT_NE(changed.key(), large.key());
    changed.source.resize(99999);
    EXPECT_NE(changed.key(), large.key());
}

// Capabilities 2 and 3.
TEST(RequestKey, the_target_with_its_suffix_and_options_with_their_boundaries_order_and_count_are_in_the_key)
{
    std::set<Key> keys;
    for (const char* const target : {"sm_80", "sm_90a", "sm_100", "sm_100a", "sm_100f", "compute_90", ""}) {
        Compile compile;
        compile.target = target;
        EXPECT_TRUE(keys.insert(compile.key()).second) << target;
    }
    const std::vector<Strings> different{
        {"ab", "c"},      {"a", "bc"}, {"c", "ab"}, {"abc"},  {"a", "b", "c"}, {"ab", "c", ""},
        {"ab", "c", "c"}, {},          {""},        {"", ""}, {"ab c"},        {std::string("ab\0c", 4)}};
    for (const Strings& options : different) {
        Compile compile;
        compile.options = options;
        EXPECT_TRUE(keys.insert(compile.key()).second) << testing::PrintToString(options);
    }
}

TEST(RequestKey, parts_of_a_key_have_kinds_boundaries_order_and_count)
{
    const std::set<Key> keys{
        Key::of("d", "ab", "c"),
        Key::of("d", "a", "bc"),
        Key::of("d", "c", "ab"),
        Key::of("d", "abc"),
        Key::of("d", "ab", "c", ""),
        Key::of("da", "b", "c"),
        Key::of("d"),
        Key::of("d", ""),
        Key::of("d", "", ""),
        Key::of("d", "1"),
        Key::of("d", 1),
        Key::of("d", true),
        Key::of("d", Bytes::copy_of("1")),
        Key::of("d", Strings{"1"}),
        Key::of("d", std::string("\x01\0\0\0\0\0\0\0", 8)),
    };
    EXPECT_EQ(keys.size(), 15U);
}

TEST(RequestKey, the_width_of_a_number_is_not_in_the_key)
{
    EXPECT_EQ(Key::of("d", std::uint8_t{7}), Key::of("d", std::uint64_t{7}));
    EXPECT_EQ(Key::of("d", 7), Key::of("d", 7L));
    EXPECT_EQ(Key::of("d", -7), Key::of("d", -7L));
}

TEST(RequestKey, the_name_of_a_field_and_its_place_are_in_the_key)
{
    const Key key = KeyBuilder("d").text("a", "x").text("b", "y").key();
    EXPECT_NE(KeyBuilder("d").text("b", "x").text("a", "y").key(), key);
    EXPECT_NE(KeyBuilder("d").text("b", "y").text("a", "x").key(), key);
    EXPECT_NE(KeyBuilder("d").text("ab", "x").text("b", "y").key(), key);
}

// A value and the digest that stands for it must not meet: else a forger could answer for a text they only know the
// digest of.
TEST(RequestKey, a_long_value_and_its_digest_are_different_requests)
{
    const std::string value(500, 'v');
    const base::Sha256 digest = base::sha256(as_bytes(value));
    EXPECT_NE(Key::of("d", value), Key::of("d", as_text(std::as_bytes(std::span(digest)))));
}

// Capability 8.
TEST(RequestKey, pinned_keys_are_the_same_in_every_build_and_on_every_cpu)
{
    for (const Pinned& pinned : pinned_keys())
        EXPECT_EQ(pinned.key.hex(), pinned.hex)
            << pinned.what << ": keys have changed, so every cache in the world is cold. If that is meant, raise the "
            << "number in k_request_magic (src/format/request.hpp) and pin the new keys.";
}

TEST(RequestKey, a_child_process_agrees_on_every_key)
{
    ProcessOptions options;
    options.environment = {{"LC_ALL", "tr_TR.UTF-8"}, {"TZ", "Pacific/Apia"}, {"HOME", std::nullopt}};
    options.directory = "/";
    const ProcessResult child = run_process({"/proc/self/exe", "--gtest_filter=RequestKey.pinned_keys*"}, options);
    EXPECT_EQ(child.exit_code, 0) << child.out;
    EXPECT_NE(child.out.find("1 test"), std::string::npos) << child.out;
}

// Capability 10.
TEST(RequestKey, any_bytes_can_be_a_users_key)
{
    std::string every_byte;
    for (int byte = 0; byte < 256; ++byte)
        every_byte += static_cast<char>(byte);
    const Strings names{"",
                        " ",
                        "/",
                        "../../etc/passwd",
                        "a/b/c",
                        "a\\b",
                        "Грета",
                        "日本語",
                        "e\xCC\x81",
                        "\xC3\xA9",
                        std::string("nul\0inside", 10),
                        std::string(1, '\0'),
                        "\xFF\xFE not UTF-8",
                        "line\nbreak",
                        every_byte,
                        std::string(1 << 20, 'k'),
                        std::string((1 << 20) - 1, 'k')};
    std::set<std::string> keys;
    for (const std::string& name : names) {
        const Request request = Request::of("user", name);
        EXPECT_EQ(request.key(), Key::of("user", name));
        const std::string hex = request.key().hex();
        EXPECT_EQ(hex.size(), 64U);
        EXPECT_EQ(Key::parse(hex), request.key());
        EXPECT_TRUE(keys.insert(hex).second) << name.substr(0, 20);
        const std::vector<Field> fields = request.fields();
        ASSERT_EQ(fields.size(), 2U);
        EXPECT_EQ(fields[1].size, name.size());
        EXPECT_LT(request.encoding().size(), 1000U) << "a key of a megabyte must not make entries of a megabyte";
        EXPECT_TRUE(fields[1].digested || fields[1].value == name);
    }
}

TEST(Key, parse_takes_what_hex_gives_in_either_case_and_nothing_else)
{
    const Key key = Key::of("test", 1);
    std::string hex = key.hex();
    EXPECT_EQ(Key::parse(hex), key);
    std::string upper = hex;
    for (char& c : upper)
        c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    EXPECT_EQ(Key::parse(upper), key);
    EXPECT_FALSE(Key::parse(hex + "0"));
    EXPECT_FALSE(Key::parse(hex.substr(1)));
    EXPECT_FALSE(Key::parse(""));
    EXPECT_FALSE(Key::parse(" " + hex.substr(1)));
    hex[63] = 'g';
    EXPECT_FALSE(Key::parse(hex));
}

TEST(RequestEncoding, is_what_is_hashed_and_gives_fields_back_with_their_kinds_names_and_values)
{
    Compile compile;
    compile.debug = true;
    compile.source = std::string(300, 's');
    const Request request = compile.request();
    EXPECT_EQ(request.key().digest, base::sha256(request.encoding()));
    const std::vector<Field> fields = request.fields();
    ASSERT_EQ(fields.size(), 7U);
    EXPECT_EQ(fields[0], (Field{FieldKind::text, "domain", false, 5, "nvrtc", {}}));
    const base::Sha256 digest = base::sha256(as_bytes(compile.source));
    EXPECT_EQ(
        fields[1],
        (Field{FieldKind::text, "source", true, 300, std::string(as_text(std::as_bytes(std::span(digest)))), {}}));
    EXPECT_EQ(fields[2], (Field{FieldKind::text, "target", false, 5, "sm_90", {}}));
    EXPECT_EQ(fields[3], (Field{FieldKind::list, "options", false, 2, "", compile.options}));
    EXPECT_EQ(fields[4].kind, FieldKind::bytes);
    EXPECT_EQ(fields[4].value, compile.compiler);
    EXPECT_EQ(fields[5].kind, FieldKind::flag);
    EXPECT_EQ(fields[6].kind, FieldKind::number);
}

TEST(RequestEncoding, fields_are_shown_as_people_read_them)
{
    const Request request = KeyBuilder("d")
                                .text("text", "as it is")
                                .bytes("bytes", as_bytes(std::string_view("\x00\xFFz", 3)))
                                .number("number", UINT64_MAX)
                                .flag("yes", true)
                                .flag("no", false)
                                .list("list", Strings{"-O3", "-g"})
                                .list("nothing", Strings{})
                                .text("long", std::string(129, 'a'))
                                .list("long list", Strings(1000, "abc"))
                                .build();
    const auto shown = [&](std::size_t at) { return request.fields().at(at).display(); };
    EXPECT_EQ(shown(1), "as it is");
    EXPECT_EQ(shown(2), "00ff7a");
    EXPECT_EQ(shown(3), "18446744073709551615");
    EXPECT_EQ(shown(4), "true");
    EXPECT_EQ(shown(5), "false");
    EXPECT_EQ(shown(6), "-O3 -g");
    EXPECT_EQ(shown(7), "");
    const base::Sha256 digest = base::sha256(as_bytes(std::string(129, 'a')));
    EXPECT_EQ(shown(8), "sha256:" + base::to_hex(std::as_bytes(std::span(digest))) + " (129 bytes)");
    EXPECT_TRUE(shown(9).ends_with(" (1000 items)")) << shown(9);
}

TEST(RequestKey, names_of_any_length_are_told_apart_by_their_last_byte)
{
    const auto request = [](const std::string& name) { return KeyBuilder("test").text(name, "value").build(); };
    for (const std::size_t length : {std::size_t{65535}, std::size_t{65536}, std::size_t{100'000}}) {
        const std::string name(length, 'n');
        EXPECT_NE(request(name + "a").key(), request(name + "b").key()) << length;
        ASSERT_EQ(request(name).fields().size(), 2U) << length;
        EXPECT_EQ(request(name).fields()[1].name.size(), 65535U) << length;
    }
}

TEST(RequestEncoding, long_values_enter_by_digest_from_the_first_byte_beyond_the_limit)
{
    const auto digested = [](const Request& request) { return request.fields().at(1).digested; };
    EXPECT_FALSE(digested(Request::of("d", std::string(KeyBuilder::k_inline_limit, 'a'))));
    EXPECT_TRUE(digested(Request::of("d", std::string(KeyBuilder::k_inline_limit + 1, 'a'))));
    EXPECT_FALSE(digested(Request::of("d", Bytes::copy_of(std::string(KeyBuilder::k_inline_limit, 'a')))));
    EXPECT_TRUE(digested(Request::of("d", Bytes::copy_of(std::string(KeyBuilder::k_inline_limit + 1, 'a')))));
    // Items of 8 bytes of length and 8 of text.
    EXPECT_FALSE(digested(Request::of("d", Strings(format::k_list_inline_limit / 16, "01234567"))));
    EXPECT_TRUE(digested(Request::of("d", Strings(format::k_list_inline_limit / 16 + 1, "01234567"))));
}

TEST(RequestEncoding, is_no_request_when_it_is_cut_anywhere_but_between_fields)
{
    // A builder that stops after each field in turn says where fields end.
    KeyBuilder growing("d");
    const std::set<std::size_t> ends{growing.build().encoding().size(),
                                     growing.text("text", "a text").build().encoding().size(),
                                     growing.list("list", Strings{"-O3", ""}).build().encoding().size(),
                                     growing.bytes("bytes", as_bytes("abc")).build().encoding().size(),
                                     growing.flag("flag", true).build().encoding().size(),
                                     growing.number("number", 64).build().encoding().size()};
    const Request request = growing.build();
    const ByteView whole = request.encoding();
    for (std::size_t size = 0; size <= whole.size(); ++size)
        EXPECT_EQ(format::decode_request(whole.first(size)).has_value(), ends.contains(size)) << "cut to " << size;
}

TEST(RequestEncoding, that_no_builder_would_write_is_no_request)
{
    const auto field = [](std::uint8_t kind, std::uint8_t form, std::string_view name, std::uint64_t size,
                          std::string_view value) {
        base::WireWriter out;
        out.number(kind);
        out.number(form);
        out.prefixed<std::uint16_t>(name);
        out.number(size);
        out.raw(value);
        return std::move(out.out());
    };
    const std::string domain = std::string(format::k_request_magic) + field(1, 0, "domain", 1, "d");
    const auto decodes = [](const std::string& bytes) { return format::decode_request(as_bytes(bytes)).has_value(); };
    EXPECT_TRUE(Request(Key{}, Bytes::copy_of("not a request")).fields().empty());
    EXPECT_TRUE(Request().fields().empty());
    ASSERT_TRUE(decodes(domain));
    ASSERT_TRUE(decodes(domain + field(1, 0, "x", 2, "ab")));

    const std::string digest(32, 'd');
    const std::string eight(8, '\0');
    EXPECT_FALSE(decodes(std::string(format::k_request_magic))) << "no domain";
    EXPECT_FALSE(decodes(std::string(format::k_request_magic) + field(1, 0, "x", 1, "d"))) << "no domain first";
    EXPECT_FALSE(decodes(std::string(format::k_request_magic) + field(2, 0, "domain", 1, "d"))) << "domain not text";
    EXPECT_FALSE(decodes("hearth request 2\n" + domain.substr(17))) << "another version";
    EXPECT_FALSE(decodes(domain + field(0, 0, "x", 1, "a"))) << "kind 0";
    EXPECT_FALSE(decodes(domain + field(6, 0, "x", 1, "a"))) << "kind 6";
    EXPECT_FALSE(decodes(domain + field(1, 2, "x", 1, "a"))) << "form 2";
    EXPECT_FALSE(decodes(domain + field(3, 0, "x", 4, "1234"))) << "a number of four bytes";
    EXPECT_FALSE(decodes(domain + field(4, 0, "x", 2, "12"))) << "a flag of two bytes";
    EXPECT_FALSE(decodes(domain + field(4, 0, "x", 1, "\x02"))) << "a flag that is neither";
    EXPECT_FALSE(decodes(domain + field(3, 1, "x", 8, digest))) << "a number by digest";
    EXPECT_FALSE(decodes(domain + field(4, 1, "x", 1, digest))) << "a flag by digest";
    EXPECT_FALSE(decodes(domain + field(1, 1, "x", 128, digest))) << "a short text by digest";
    EXPECT_FALSE(decodes(domain + field(2, 0, "x", 129, std::string(129, 'a')))) << "long bytes whole";
    EXPECT_TRUE(decodes(domain + field(1, 1, "x", 129, digest)));
    EXPECT_FALSE(decodes(domain + field(1, 1, "x", 129, digest.substr(1)))) << "a digest cut short";
    EXPECT_FALSE(decodes(domain + field(5, 0, "x", 1, eight + "a"))) << "a byte after the last item";
    for (const std::uint64_t lie :
         {std::uint64_t{2}, std::uint64_t{1} << 32U, std::uint64_t{1} << 61U, std::uint64_t{1} << 63U, UINT64_MAX}) {
        EXPECT_FALSE(decodes(domain + field(5, 0, "x", lie, eight))) << lie << " items";
        EXPECT_FALSE(decodes(domain + field(1, 0, "x", lie, "a"))) << "text of " << lie;
    }
}

}  // namespace hearth::test

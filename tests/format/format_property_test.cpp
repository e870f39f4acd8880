#include "base/digest.hpp"
#include "format/entry.hpp"
#include "format/request.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <vector>

namespace hearth::test {

namespace {

using Strings = std::vector<std::string>;

rc::Gen<std::string> any_bytes()
{
    return rc::gen::container<std::string>(rc::gen::arbitrary<char>());
}

// Short, long enough to be digested, or long enough to be compressed: with its pattern repeated.
rc::Gen<std::string> any_value()
{
    return rc::gen::apply(
        [](std::string pattern, std::size_t times) {
            std::string value;
            while (!pattern.empty() && times-- > 0)
                value += pattern;
            return value;
        },
        any_bytes(), rc::gen::element<std::size_t>(1, 1, 1, 10, 150));
}

rc::Gen<Key> any_key()
{
    return rc::gen::map(any_bytes(), [](const std::string& name) { return Key::of("property", name); });
}

rc::Gen<WallTime> any_time()
{
    return rc::gen::map(rc::gen::arbitrary<std::int64_t>(),
                        [](std::int64_t ns) { return WallTime(std::chrono::nanoseconds(ns)); });
}

rc::Gen<Section> any_section()
{
    return rc::gen::apply(
        [](std::string name, const std::string& data) {
            return Section{std::move(name), Bytes::copy_of(data)};
        },
        any_bytes(), any_value());
}

rc::Gen<Metadata> any_metadata()
{
    return rc::gen::apply(
        [](std::string label, std::string compiler, std::string target, Strings options, std::string writer) {
            return Metadata{std::move(label), std::move(compiler), std::move(target), std::move(options),
                            std::move(writer)};
        },
        any_bytes(), any_bytes(), any_value(), rc::gen::container<Strings>(any_value()), any_bytes());
}

rc::Gen<Artifact> any_artifact()
{
    return rc::gen::apply(
        [](std::vector<Section> sections, Metadata metadata, const std::string& request, std::int32_t status,
           std::uint32_t cost, WallTime created, WallTime expires) {
            Artifact artifact;
            artifact.sections = std::move(sections);
            artifact.metadata = std::move(metadata);
            artifact.request = Bytes::copy_of(request);
            artifact.status = status;
            artifact.cost = std::chrono::nanoseconds(std::int64_t{cost} << 20U);
            artifact.created = created;
            artifact.expires = expires;
            return artifact;
        },
        rc::gen::container<std::vector<Section>>(any_section()), any_metadata(), any_value(),
        rc::gen::arbitrary<std::int32_t>(), rc::gen::arbitrary<std::uint32_t>(), any_time(), any_time());
}

rc::Gen<format::EncodeOptions> any_options()
{
    return rc::gen::apply(
        [](int compression, bool preferred) {
            return format::EncodeOptions{compression,
                                         preferred ? base::preferred_checksum() : base::ChecksumKind::sha256};
        },
        rc::gen::inRange(0, 6), rc::gen::arbitrary<bool>());
}

// A field before it is encoded.
struct Given {
    FieldKind kind;
    std::string name;
    std::string value;
    Strings items;
    std::uint64_t number;

    friend bool operator==(const Given&, const Given&) = default;

    void add_to(KeyBuilder& builder) const
    {
        switch (kind) {
        case FieldKind::text:
            builder.text(name, value);
            break;
        case FieldKind::bytes:
            builder.bytes(name, as_bytes(value));
            break;
        case FieldKind::number:
            builder.number(name, number);
            break;
        case FieldKind::flag:
            builder.flag(name, number % 2 == 1);
            break;
        case FieldKind::list:
            builder.list(name, items);
            break;
        }
    }
};

rc::Gen<Given> any_field()
{
    return rc::gen::apply(
        [](FieldKind kind, std::string name, std::string value, Strings items, std::uint64_t number) {
            // What the kind does not use is left empty, so that equal fields compare equal.
            const bool plain = kind == FieldKind::text || kind == FieldKind::bytes;
            const bool list = kind == FieldKind::list;
            return Given{kind, std::move(name), plain ? std::move(value) : "", list ? std::move(items) : Strings{},
                         kind == FieldKind::number ? number
                         : kind == FieldKind::flag ? number % 2
                                                   : 0};
        },
        rc::gen::element(FieldKind::text, FieldKind::bytes, FieldKind::number, FieldKind::flag, FieldKind::list),
        any_bytes(), any_value(), rc::gen::container<Strings>(any_value()), rc::gen::arbitrary<std::uint64_t>());
}

rc::Gen<std::vector<Given>> any_fields()
{
    return rc::gen::container<std::vector<Given>>(any_field());
}

Request request_of(const std::vector<Given>& fields)
{
    KeyBuilder builder("property");
    for (const Given& field : fields)
        field.add_to(builder);
    return builder.build();
}

}  // namespace

RC_GTEST_PROP(EntryProperty, what_was_encoded_is_decoded, ())
{
    const Key key = *any_key();
    const Artifact artifact = *any_artifact();
    const Result<Bytes> entry = format::encode_entry(key, artifact, *any_options());
    RC_ASSERT(entry.ok());
    const format::DecodedEntry decoded = format::decode_entry(*entry, key);
    RC_ASSERT(decoded.artifact != nullptr);
    RC_ASSERT(*decoded.artifact == artifact);
}

RC_GTEST_PROP(RequestProperty, fields_come_back_as_they_were_given, ())
{
    const std::vector<Given> given = *any_fields();
    const Request request = request_of(given);
    RC_ASSERT(request.key().digest == base::sha256(request.encoding()));
    const std::vector<Field> fields = request.fields();
    RC_ASSERT(fields.size() == given.size() + 1);
    for (std::size_t i = 0; i < given.size(); ++i) {
        const Field& field = fields[i + 1];
        RC_ASSERT((field.kind == given[i].kind));
        RC_ASSERT(field.name == given[i].name);
        if (field.digested) {
            RC_ASSERT(field.value.size() == 32U);
        } else if (field.kind == FieldKind::text || field.kind == FieldKind::bytes) {
            RC_ASSERT(field.value == given[i].value);
        } else if (field.kind == FieldKind::list) {
            RC_ASSERT(field.items == given[i].items);
        } else if (field.kind == FieldKind::number) {
            RC_ASSERT(field.display() == std::to_string(given[i].number));
        } else {
            RC_ASSERT(field.display() == (given[i].number == 1 ? "true" : "false"));
        }
    }
}

RC_GTEST_PROP(RequestProperty, different_fields_are_different_keys_and_equal_ones_the_same, ())
{
    const std::vector<Given> one = *any_fields();
    std::vector<Given> two = one;
    // A small change is where an ambiguous encoding would show; two unrelated requests never come near each other.
    const auto place = *rc::gen::inRange<std::size_t>(0, one.size() + 1);
    const Given fresh = *any_field();
    switch (*rc::gen::inRange(0, 4)) {
    case 0:
        two.insert(two.begin() + static_cast<std::ptrdiff_t>(place), fresh);
        break;
    case 1:
        if (place < two.size())
            two.erase(two.begin() + static_cast<std::ptrdiff_t>(place));
        break;
    case 2:
        if (place < two.size())
            two[place] = fresh;
        break;
    default:
        if (place + 1 < two.size())
            std::swap(two[place], two[place + 1]);
        break;
    }
    RC_ASSERT((request_of(one).key() == request_of(two).key()) == (one == two));
}

}  // namespace hearth::test

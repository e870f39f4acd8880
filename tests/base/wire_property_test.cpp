#include "base/wire.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <string>
#include <variant>
#include <vector>

namespace hearth::test {

namespace {

using Value =
    std::variant<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, std::int32_t, std::int64_t, std::string>;

rc::Gen<Value> any_value()
{
    return rc::gen::oneOf(rc::gen::cast<Value>(rc::gen::arbitrary<std::uint8_t>()),
                          rc::gen::cast<Value>(rc::gen::arbitrary<std::uint16_t>()),
                          rc::gen::cast<Value>(rc::gen::arbitrary<std::uint32_t>()),
                          rc::gen::cast<Value>(rc::gen::arbitrary<std::uint64_t>()),
                          rc::gen::cast<Value>(rc::gen::arbitrary<std::int32_t>()),
                          rc::gen::cast<Value>(rc::gen::arbitrary<std::int64_t>()),
                          rc::gen::cast<Value>(rc::gen::arbitrary<std::string>()));
}

void write(base::WireWriter& out, const Value& value)
{
    std::visit(
        [&]<class T>(const T& typed) {
            if constexpr (std::same_as<T, std::string>)
                out.prefixed<std::uint32_t>(typed);
            else
                out.number(typed);
        },
        value);
}

// What lies there, read as the kind of value that `like` is.
Value read(base::WireReader& in, const Value& like)
{
    return std::visit(
        [&]<class T>(const T&) -> Value {
            if constexpr (std::same_as<T, std::string>)
                return std::string(in.prefixed<std::uint32_t>());
            else
                return in.number<T>();
        },
        like);
}

}  // namespace

RC_GTEST_PROP(WireProperty, what_was_written_is_read_back, ())
{
    const auto values = *rc::gen::container<std::vector<Value>>(any_value());
    base::WireWriter out;
    for (const Value& value : values)
        write(out, value);
    base::WireReader in(out.view());
    for (const Value& value : values)
        RC_ASSERT((read(in, value) == value));
    RC_ASSERT(in.at_end());
    RC_ASSERT(!in.failed());
}

RC_GTEST_PROP(WireProperty, every_cut_is_noticed, ())
{
    const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<Value>>(any_value()));
    base::WireWriter out;
    for (const Value& value : values)
        write(out, value);
    const auto cut = *rc::gen::inRange<std::size_t>(0, out.size());
    base::WireReader in(out.view().first(cut));
    for (const Value& value : values)
        read(in, value);
    RC_ASSERT(in.failed());
}

}  // namespace hearth::test

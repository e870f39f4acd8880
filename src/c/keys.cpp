// The keys of hearth.h.

#include "c/handles.hpp"

#include <cstring>
#include <span>
#include <vector>

namespace {

using hearth::Code;
using hearth::c::fail;
using hearth::c::guarded;

template <class F>
hearth_status add(hearth_key_builder* builder, const char* name, bool has_value, F&& field)
{
    return guarded(nullptr, [&]() -> hearth_status {
        if (builder == nullptr || name == nullptr || !has_value)
            return fail(nullptr, Code::invalid_argument, "A field of a key needs a builder, a name and a value.");
        std::forward<F>(field)(builder->builder);
        return HEARTH_OK;
    });
}

}  // namespace

hearth_key_builder* hearth_new_key(const char* domain)
try {
    return new hearth_key_builder(domain != nullptr ? domain : "");
} catch (...) {
    return nullptr;
}

hearth_status hearth_key_text(hearth_key_builder* builder, const char* name, const char* value)
{
    return add(builder, name, value != nullptr, [&](hearth::KeyBuilder& key) { key.text(name, value); });
}

hearth_status hearth_key_bytes(hearth_key_builder* builder, const char* name, hearth_bytes value)
{
    return add(builder, name, value.data != nullptr || value.size == 0, [&](hearth::KeyBuilder& key) {
        key.bytes(name, {static_cast<const std::byte*>(value.data), value.size});
    });
}

hearth_status hearth_key_number(hearth_key_builder* builder, const char* name, uint64_t value)
{
    return add(builder, name, true, [&](hearth::KeyBuilder& key) { key.number(name, value); });
}

hearth_status hearth_key_flag(hearth_key_builder* builder, const char* name, int value)
{
    return add(builder, name, true, [&](hearth::KeyBuilder& key) { key.flag(name, value != 0); });
}

hearth_status hearth_key_list(hearth_key_builder* builder, const char* name, const char* const* items, size_t count)
{
    bool whole = items != nullptr || count == 0;
    for (size_t i = 0; whole && i < count; ++i)
        whole = items[i] != nullptr;
    return add(builder, name, whole, [&](hearth::KeyBuilder& key) {
        const std::vector<std::string> list(items, items + count);
        key.list(name, list);
    });
}

hearth_status hearth_make_key(const hearth_key_builder* builder, hearth_key* key)
{
    return guarded(nullptr, [&]() -> hearth_status {
        if (builder == nullptr || key == nullptr)
            return fail(nullptr, Code::invalid_argument, "A key needs a builder, and a place to be written to.");
        std::memcpy(key->digest, builder->builder.key().digest.data(), sizeof key->digest);
        return HEARTH_OK;
    });
}

void hearth_free_key(hearth_key_builder* builder)
{
    delete builder;
}

hearth_status hearth_key_to_hex(const hearth_key* key, char hex[65])
{
    return guarded(nullptr, [&]() -> hearth_status {
        if (key == nullptr || hex == nullptr)
            return fail(nullptr, Code::invalid_argument, "There is no key, or no place for its 65 characters.");
        hearth::Key digest;
        std::memcpy(digest.digest.data(), key->digest, sizeof key->digest);
        std::memcpy(hex, digest.hex().c_str(), 65);
        return HEARTH_OK;
    });
}

hearth_status hearth_key_from_hex(const char* hex, hearth_key* key)
{
    return guarded(nullptr, [&]() -> hearth_status {
        const auto parsed = hex != nullptr && key != nullptr ? hearth::Key::parse(hex) : std::nullopt;
        if (!parsed)
            return fail(nullptr, Code::invalid_argument, "A key is 64 hexadecimal digits.");
        std::memcpy(key->digest, parsed->digest.data(), sizeof key->digest);
        return HEARTH_OK;
    });
}

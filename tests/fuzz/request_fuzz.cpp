#include "base/wire.hpp"
#include "format/request.hpp"
#include "fuzz/fuzz.hpp"

#include <string>
#include <vector>

namespace {

using namespace hearth;

// The fields written again by the grammar in format/request.hpp.
std::string encode(const std::vector<Field>& fields)
{
    base::WireWriter out;
    out.raw(format::k_request_magic);
    for (const Field& field : fields) {
        out.number(static_cast<std::uint8_t>(field.kind));
        out.number(static_cast<std::uint8_t>(field.digested));
        out.prefixed<std::uint16_t>(field.name);
        out.number(field.size);
        out.raw(field.value);
        for (const std::string& item : field.items)
            out.prefixed<std::uint64_t>(item);
    }
    return std::move(out.out());
}

void try_input(std::string_view text)
{
    const auto fields = format::decode_request(as_bytes(text));
    if (!fields)
        return;
    fuzz::require(encode(*fields) == text, "a request has one encoding");
    for (const Field& field : *fields)
        fuzz::require(field.display().size() <= 2 * text.size() + 128, "what is shown is no longer than what was read");
}

const fuzz::Added k_added({"request", 1'000'000, try_input});

}  // namespace

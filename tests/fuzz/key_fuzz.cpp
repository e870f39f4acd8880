#include "fuzz/fuzz.hpp"
#include "hearth/key.hpp"
#include "tiers/disk/layout.hpp"

#include <string>

namespace {

using namespace hearth;

std::string lower(std::string_view text)
{
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'F')
            c = static_cast<char>(c - 'A' + 'a');
    return result;
}

void try_input(std::string_view text)
{
    if (const auto key = Key::parse(text))
        fuzz::require(key->hex() == lower(text), "a key that is read is written as it was");

    // The same bytes as the name of a file among the entries.
    static const tiers::Layout layout("directory");
    const unsigned shard = text.empty() ? 0 : static_cast<unsigned char>(text[0]);
    if (const auto key = tiers::Layout::key_of(shard, text))
        fuzz::require(layout.entry(*key) == layout.shard(shard) + "/" + std::string(text),
                      "a file that is named like an entry is that entry's file");
}

const fuzz::Added k_added({"key", 600'000, try_input});

}  // namespace

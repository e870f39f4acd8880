#include "fuzz/fuzz.hpp"
#include "watch/manifest.hpp"

namespace {

using namespace hearth;

void try_input(std::string_view text)
{
    const auto manifest = watch::decode_manifest(as_bytes(text));
    if (manifest)
        fuzz::require(watch::encode_manifest(*manifest).text() == text, "a manifest has one encoding");
}

const fuzz::Added k_added({"manifest", 2'000'000, try_input});

}  // namespace

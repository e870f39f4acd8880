#include "fuzz/fuzz.hpp"
#include "watch/manifest.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace hearth;
    const std::string_view text = fuzz::text_of(data, size);
    const auto manifest = watch::decode_manifest(as_bytes(text));
    if (manifest)
        fuzz::require(watch::encode_manifest(*manifest).text() == text, "a manifest has one encoding");
    return 0;
}

#include "format/manifest.hpp"
#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace hearth;
    const std::string_view text = fuzz::text_of(data, size);
    const auto manifest = format::decode_manifest(as_bytes(text));
    if (manifest)
        fuzz::require(format::encode_manifest(*manifest).text() == text, "a manifest has one encoding");
    return 0;
}

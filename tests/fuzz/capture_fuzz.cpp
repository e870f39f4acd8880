#include "carry/capture.hpp"
#include "fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    using namespace hearth;
    const std::string_view text = fuzz::text_of(data, size);
    const Result<cli::carry::Capture> capture = cli::carry::decode(as_bytes(text));
    if (!capture)
        return 0;
    fuzz::require(cli::carry::encode(*capture) == text, "a capture has one encoding");
    if (!cli::carry::check(*capture, {}).ok())
        return 0;
    for (const cli::carry::Item& item : capture->items) {
        fuzz::require(!item.path.empty() && item.path.front() != '/', "paths are below the directory");
        fuzz::require(("/" + item.path + "/").find("/../") == std::string::npos, "no path climbs");
        fuzz::require(!item.target.starts_with('/'), "links lead to places in the directory");
        fuzz::require(item.mode <= 0777, "modes are permissions");
    }
    return 0;
}

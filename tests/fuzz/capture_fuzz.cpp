#include "carry/capture.hpp"
#include "fuzz/fuzz.hpp"

namespace {

using namespace hearth;

void try_input(std::string_view text)
{
    const Result<cli::carry::Capture> capture = cli::carry::decode(as_bytes(text));
    if (!capture)
        return;
    fuzz::require(cli::carry::encode(*capture) == text, "a capture has one encoding");
    if (!cli::carry::check(*capture, {}).ok())
        return;
    for (const cli::carry::Item& item : capture->items) {
        fuzz::require(!item.path.empty() && item.path.front() != '/', "paths are below the directory");
        fuzz::require(("/" + item.path + "/").find("/../") == std::string::npos, "no path climbs");
        fuzz::require(!item.target.starts_with('/'), "links lead to places in the directory");
        fuzz::require(item.mode <= 0777, "modes are permissions");
    }
}

const fuzz::Added k_added({"capture", 300'000, try_input});

}  // namespace

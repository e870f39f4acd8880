// The input is a document of an image layout that a stranger wrote: its index, or a manifest.

#include "fuzz/fuzz.hpp"
#include "oci/documents.hpp"

#include <algorithm>

namespace {

using namespace hearth;
namespace oci = cli::oci;

void check(const Result<oci::Descriptor>& read)
{
    if (!read) {
        fuzz::require(!read.error().message.empty(), "what is refused is refused with a sentence");
        return;
    }
    const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
    fuzz::require(read->digest.size() == 64 && std::all_of(read->digest.begin(), read->digest.end(), is_digit),
                  "a blob is found by digits only");
}

void try_input(std::string_view text)
{
    static_cast<void>(oci::check_layout(text, "layout"));
    check(oci::manifest_in(text, "layout"));
    check(oci::bundle_in(text, "layout"));
}

const fuzz::Added k_added({"oci", 40'000, try_input});

}  // namespace

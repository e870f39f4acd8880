#include "tiers/bundle/open_bundle.hpp"

#include "base/error.hpp"
#include "format/acceptance.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::tiers {

namespace {

Error denied(std::string message)
{
    return error(Code::denied, "{}", std::move(message));
}

bool trusts(const Trust& trust, const PublicKey& key)
{
    return std::ranges::find(trust.trusted, key) != trust.trusted.end() ||
           (!trust.sign_with.empty() && trust.sign_with.front().public_key() == key);
}

// None: one of the trusted keys has signed it.
std::optional<Error> distrust(const format::BundleHead& head, const std::string& path, const Trust& trust)
{
    if (trust.trusted.empty() && trust.sign_with.empty())
        return denied(fmt::format(
            "{} is to be signed, and no key is trusted, so that it is not used. Name keys in HEARTH_TRUSTED_KEYS.",
            path));
    if (!head.signer())
        return denied(fmt::format("{} is not signed, and only a signed bundle is wanted; it is not used. Make it with "
                                  "`hearth bundle create FILE --sign-with KEY`.",
                                  path));
    if (!trusts(trust, *head.signer()))
        return denied(fmt::format("{} is signed by {}, which is not trusted; it is not used. Add that key to "
                                  "HEARTH_TRUSTED_KEYS if you trust whoever holds it.",
                                  path, head.signer()->text()));
    if (!head.is_signature_right())
        return denied(fmt::format("{} has a signature that is not one over its content; it is not used. Get the file "
                                  "again.",
                                  path));
    return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<format::BundleFile>> open_bundle(base::Files& files, const std::string& path, const Trust& trust)
{
    if (path.empty())
        return error(Code::invalid_argument, "A bundle needs the path of its file. Set one with HEARTH_BUNDLES.");
    Result<std::unique_ptr<format::BundleFile>> file = format::BundleFile::open(files, base::real_path(path));
    if (!file || !format::demands_signatures(trust))
        return file;
    if (const std::optional<Error> reason = distrust((*file)->head(), (*file)->path(), trust))
        return *reason;
    return file;
}

}  // namespace hearth::tiers

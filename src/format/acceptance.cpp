#include "format/acceptance.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "format/signature.hpp"

namespace hearth::format {

DecodedEntry decode_trusted(const Bytes& bytes, const Key& key, const Trust& trust, std::uint64_t most)
{
    if (trust.signatures == Signatures::demanded && !is_signed_by(trust.trusted, key, bytes))
        return {nullptr, Miss::untrusted};
    return decode_entry(bytes, key, most);
}

bool is_too_old(WallTime created, WallTime expires, const Acceptance& acceptance)
{
    // The clock is read only if it matters: most entries never expire.
    if (expires == WallTime{} && acceptance.max_age.count() <= 0)
        return false;
    const WallTime now = acceptance.clock.now();
    return (expires != WallTime{} && now >= expires) ||
           (acceptance.max_age.count() > 0 && created <= base::time_before(now, acceptance.max_age));
}

Found accept_entry(const Bytes& bytes, const Key& key, const Acceptance& acceptance)
{
    DecodedEntry decoded = decode_trusted(bytes, key, acceptance.trust, acceptance.max_bytes);
    if (!decoded.artifact)
        return Found::miss(decoded.why);
    if (is_too_old(decoded.artifact->created, decoded.artifact->expires, acceptance))
        return Found::miss(Miss::expired);
    Found found;
    found.bytes = bytes.size();
    found.cost = decoded.artifact->cost;
    found.compiler = compiler_kind_of(decoded.artifact->metadata.compiler);
    found.artifact = ArtifactLease(std::shared_ptr<const Artifact>(std::move(decoded.artifact)));
    return found;
}

Result<Bytes> prepare_entry(const Key& key, const Entry& entry, const Trust& trust, const EncodeOptions& options)
{
    Bytes bytes = entry.encoded();
    if (bytes.empty()) {
        HEARTH_TRY_SET(bytes, encode_entry(key, *entry.artifact(), options));
    }
    const bool signs = !trust.sign_with.empty() && entry.artifact()->origin == Origin::here && !has_signature(bytes);
    return signs ? sign_entry(key, bytes, trust.sign_with.front()) : bytes;
}

}  // namespace hearth::format

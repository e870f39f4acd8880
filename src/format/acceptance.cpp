#include "format/acceptance.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "format/signature.hpp"

namespace hearth::format {

bool demands_signatures(const Trust& trust)
{
    return trust.signatures == Signatures::demanded || !trust.sign_with.empty();
}

bool is_accepted(const Trust& trust, const Key& key, ByteView bytes)
{
    return is_signed_by(trust.trusted, key, bytes) ||
           (!trust.sign_with.empty() && is_signed_by({&trust.sign_with.front().public_key(), 1}, key, bytes));
}

bool may_be_signed(const Artifact& artifact, const Key& key, ByteView encoded, const Trust& trust)
{
    return artifact.origin == Origin::here || artifact.origin == Origin::trusted || is_accepted(trust, key, encoded);
}

DecodedEntry decode_trusted(const Bytes& bytes, const Key& key, const Trust& trust, std::uint64_t most)
{
    const bool demanded = demands_signatures(trust);
    if (demanded && !is_accepted(trust, key, bytes))
        return {nullptr, Miss::untrusted};
    DecodedEntry decoded = decode_entry(bytes, key, most);
    if (decoded.artifact && demanded)
        decoded.artifact->origin = Origin::trusted;
    return decoded;
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
    if (!acceptance.here && !may_travel(*decoded.artifact))
        return Found::miss(Miss::untrusted);
    if (decoded.artifact->origin == Origin::elsewhere)
        decoded.artifact->origin = acceptance.origin;
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
    if (!demands_signatures(trust) || is_accepted(trust, key, bytes))
        return bytes;
    if (trust.sign_with.empty())
        return error(Code::denied,
                     "Entry {} is not signed by a trusted key, and only signed entries are wanted there. Sign what is "
                     "compiled here (HEARTH_SIGN_WITH), or demand no signatures of it (HEARTH_DEMAND_SIGNATURES).",
                     key.hex());
    if (!may_be_signed(*entry.artifact(), key, bytes, trust))
        return error(Code::denied,
                     "Entry {} came from a store without a signature by a trusted key, so it is not stored where "
                     "entries are signed. Name the key of whoever compiled it in HEARTH_TRUSTED_KEYS.",
                     key.hex());
    return sign_entry(key, bytes, trust.sign_with.front());
}

}  // namespace hearth::format

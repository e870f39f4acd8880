#pragma once

#include "format/entry.hpp"
#include "hearth/tier.hpp"
#include "hearth/trust.hpp"

#include <chrono>
#include <cstdint>

// Bytes in, bytes out: the one way in which bytes from a disk, a bundle or a server become an entry that is used, and
// the one way in which an entry becomes bytes that are stored or sent.

namespace hearth::format {

// Whom to believe, and what is too old.
struct Acceptance {
    const Trust& trust;
    const Clock& clock;
    std::chrono::seconds max_age{0};  // 0: only what says itself when it ends
};

// decode_entry(), and where signatures are demanded one is looked for first: Miss::untrusted.
DecodedEntry decode_trusted(const Bytes& bytes, const Key& key, const Trust& trust);

bool is_too_old(WallTime created, WallTime expires, const Acceptance& acceptance);

// Everything is looked at before anything is used: the signature (untrusted), version and checksum kind
// (other_version), lengths, sums and key (corrupt), age (expired). Without `encoded`, which is for who has the bytes to
// give.
Found accept_entry(const Bytes& bytes, const Key& key, const Acceptance& acceptance);

// Which signature an entry keeps, where there is a key to sign it with.
enum class Keeps : std::uint8_t {
    any_signature,
    trusted_signature,  // of one that is trusted here: it says who compiled it
};

// The entry's bytes, encoded unless an earlier tier has done that, signed where there is a key for it.
Result<Bytes> prepare_entry(const Key& key, const Entry& entry, const Trust& trust, Keeps keeps,
                            const EncodeOptions& options = {});

}  // namespace hearth::format

#pragma once

#include "format/entry.hpp"
#include "hearth/tier.hpp"
#include "hearth/trust.hpp"

#include <chrono>

// The only way in which bytes from a disk, a bundle or a server become an entry that is used, and the only way in which
// an entry becomes bytes that are stored or sent.

namespace hearth::format {

// Whose entries are trusted, and which are too old.
struct Acceptance {
    const Trust& trust;
    const Clock& clock;
    std::chrono::seconds max_age{0};                 // 0: only entries with an expiry of their own expire
    std::uint64_t max_bytes = k_max_artifact_bytes;  // unpacked; a larger one is Miss::other_version
};

// decode_entry(); if signatures are demanded, the signature is checked first: Miss::untrusted.
DecodedEntry decode_trusted(const Bytes& bytes, const Key& key, const Trust& trust,
                            std::uint64_t most = k_max_artifact_bytes);

bool is_too_old(WallTime created, WallTime expires, const Acceptance& acceptance);

// Everything is checked before anything is used: the signature (untrusted), version and checksum kind (other_version),
// lengths, sums and key (corrupt), age (expired). `encoded` is left empty: the caller, who has the bytes, may fill it.
Found accept_entry(const Bytes& bytes, const Key& key, const Acceptance& acceptance);

// The entry's bytes, which are encoded unless an earlier tier has done that. What this process inserted is signed, if
// there is a key for it. What came from elsewhere keeps the signature it came with, or none: to sign it would say that
// its compile was seen here.
Result<Bytes> prepare_entry(const Key& key, const Entry& entry, const Trust& trust, const EncodeOptions& options = {});

}  // namespace hearth::format

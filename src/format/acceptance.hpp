#pragma once

#include "format/entry.hpp"
#include "hearth/tier.hpp"
#include "hearth/trust.hpp"

#include <chrono>

// The only way in which bytes from a disk, a bundle or a server become an entry that is used, and the only way in which
// an entry becomes bytes that are stored or sent.

namespace hearth::format {

// The compiler that EntryKind::derived entries name: they are facts of this machine. They are not sent anywhere, and
// none that comes from elsewhere is one.
inline constexpr std::string_view k_of_this_machine = "hearth";

inline bool is_of_this_machine(const Artifact& artifact)
{
    return artifact.metadata.compiler == k_of_this_machine;
}

// Whether an entry, or its row in a list, may go to another machine or come from one. A failure may not: it may be the
// machine's own, such as a full disk.
inline bool may_travel(const auto& entry)
{
    return entry.metadata.compiler != k_of_this_machine && entry.status == 0;
}

// Whose entries are trusted, and which are too old.
struct Acceptance {
    const Trust& trust;
    const Clock& clock;
    std::chrono::seconds max_age{0};                 // 0: only entries with an expiry of their own expire
    std::uint64_t max_bytes = k_max_artifact_bytes;  // unpacked; a larger one is Miss::other_version
    Origin origin = Origin::elsewhere;               // of entries without a demanded signature of their own
    bool here = false;                               // what this machine wrote itself, also what may not travel
};

// Whether entries must be signed to be read. Who signs demands it too: nobody can tell which unsigned entries went into
// what a process compiles.
bool demands_signatures(const Trust& trust);

// Whether a key that is trusted, or the one that signs here, has signed exactly this entry under exactly this key.
bool is_accepted(const Trust& trust, const Key& key, ByteView bytes);

// The one rule of what may be put under a signature of ours: this process compiled it, or it carries a signature that
// this process accepts. `encoded`: as it was read; empty if it was not.
bool may_be_signed(const Artifact& artifact, const Key& key, ByteView encoded, const Trust& trust);

// decode_entry(); if signatures are demanded, the signature is checked first: Miss::untrusted.
DecodedEntry decode_trusted(const Bytes& bytes, const Key& key, const Trust& trust,
                            std::uint64_t most = k_max_artifact_bytes);

bool is_too_old(WallTime created, WallTime expires, const Acceptance& acceptance);

// Everything is checked before anything is used: the signature (untrusted), version and checksum kind (other_version),
// lengths, sums and key (corrupt), whether it comes from elsewhere and may not travel (untrusted), age (expired).
// `encoded` is left empty: the caller, who has the bytes, may fill it.
Found accept_entry(const Bytes& bytes, const Key& key, const Acceptance& acceptance);

// The entry's bytes, which are encoded unless an earlier tier has done that. They keep the signature that they have; if
// they have none, they are signed where there is a key and may_be_signed() allows it. Code::denied: they would not be
// accepted by who reads them under this trust, and would take the place of an entry that is.
Result<Bytes> prepare_entry(const Key& key, const Entry& entry, const Trust& trust, const EncodeOptions& options = {});

}  // namespace hearth::format

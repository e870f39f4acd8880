#pragma once

#include "hearth/api.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"
#include "hearth/tier.hpp"
#include "hearth/trust.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// One read-only file with many entries, which ships with an application or an image: a program that finds its kernels
// there compiles nothing. docs/bundles.md says how to make, sign and use one.

namespace hearth {

class Cache;

struct BundleOptions {
    std::string path{};
    std::string name = "bundle";
    Trust trust{};  // signatures demanded: the bundle as a whole must be signed by one of the trusted keys
};

// A tier that answers from a bundle and takes nothing in. Its file may be replaced by rename at any time: who has it
// open keeps the old one.
HEARTH_API TierSpec bundle(BundleOptions options);
HEARTH_API TierSpec bundle(std::string path);

namespace bundles {

// What entries say of themselves, and how many of them do.
struct Named {
    std::string name;
    std::uint64_t entries = 0;
    friend bool operator==(const Named&, const Named&) = default;
};

// What a bundle says of itself, without a look at its entries.
struct Facts {
    std::string id;  // 64 hexadecimal digits; another for every other content
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;               // of the file
    std::vector<Named> targets{};          // by name, the first 256
    std::vector<Named> compilers{};        // with their versions; the same
    std::optional<PublicKey> signed_by{};  // the signature was checked; whether to trust its key was not
    std::string base{};                    // the id of the bundle that this is a delta over; empty: it is none
};

struct WriteOptions {
    std::optional<SigningKey> sign_with{};
    Trust inputs{};  // merge() and diff(): signatures demanded, and by whom, of the bundles that are read
};

// What was written, and what was not.
struct WriteReport {
    std::string id;
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;            // of the file
    std::uint64_t same = 0;             // merge: more than one bundle has it; diff: nothing has changed
    std::uint64_t differing = 0;        // merge: bundles disagree, and the first one counted; diff: changed since
    std::uint64_t gone = 0;             // diff: only the older bundle has it
    std::uint64_t rejected = 0;         // could not be read where it was; left out
    std::vector<Key> differing_keys;    // the first hundred
    std::vector<std::string> problems;  // a sentence each, the first hundred
};

// Each of these writes a file beside `path` and puts it in place when it is whole: on an error, or when `progress` says
// stop, what was there before is there still. The same entries give the same bytes.

// Of this machine's entries in the cache, those that `choose` says yes to; all of them without one. Failed compiles and
// what was only derived on this machine are left out. So is, where the new bundle is signed, what only bundles have
// whose own signatures were not demanded.
HEARTH_API Result<WriteReport> create(const std::string& path, Cache& cache,
                                      const std::function<bool(const EntryRow&)>& choose = {},
                                      const WriteOptions& options = {}, const Progress& progress = {});

// All entries of some bundles in one. Under a key that several have, the first one's counts.
HEARTH_API Result<WriteReport> merge(const std::string& path, const std::vector<std::string>& bundles,
                                     const WriteOptions& options = {}, const Progress& progress = {});

// What `newer` has and `older` lacks or has differently: small to ship, and asked before `older`. An entry that was
// only made again, with the same result, is the same.
HEARTH_API Result<WriteReport> diff(const std::string& path, const std::string& older, const std::string& newer,
                                    const WriteOptions& options = {}, const Progress& progress = {});

HEARTH_API Result<Facts> read(const std::string& path);
// Every entry in the order of their keys, until the visitor answers false. An error, at the end, where the file is
// damaged so far that this shows: entries that cannot be listed, or that lie behind the end of a file that was cut.
HEARTH_API Status list(const std::string& path, const std::function<bool(const EntryRow&)>& visit);
// What was found of every entry, and what the very file that was read says of itself.
struct Verified : VerifyReport {
    Facts facts{};
};
// Reads every entry. An error when it is no bundle, or `trust` demands a signature that it lacks.
HEARTH_API Result<Verified> verify(const std::string& path, const Trust& trust = {}, const Progress& progress = {});

}  // namespace bundles

}  // namespace hearth

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
// there compiles nothing. docs/bundles.md says how to create, sign and use one.

namespace hearth {

class Cache;

struct BundleOptions {
    std::string path{};
    std::string name = "bundle";
    std::uint64_t max_entry_bytes = 1_GiB;  // of one entry, unpacked
    Trust trust{};  // signatures demanded: the bundle as a whole must be signed by one of the trusted keys
};

// A tier that reads a bundle and stores nothing. The file may be replaced by rename at any time: a process that has it
// open goes on reading the old one.
HEARTH_API TierSpec bundle(BundleOptions options);
HEARTH_API TierSpec bundle(std::string path);

namespace bundles {

// A target or a compiler, and how many entries name it.
struct Named {
    std::string name;
    std::uint64_t entries = 0;
    friend bool operator==(const Named&, const Named&) = default;
};

// What a bundle says of itself. Its entries are not read for this.
struct Facts {
    std::string id;  // 64 hexadecimal digits; bundles with different content have different ids
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;               // of the file
    std::vector<Named> targets{};          // by name, the first 256
    std::vector<Named> compilers{};        // with their versions; by name, the first 256
    std::optional<PublicKey> signed_by{};  // the signature was checked; whether to trust its key was not
    std::string base{};                    // the id of the bundle that this is a delta over; empty: it is no delta
};

struct WriteOptions {
    // Puts a signature over the whole bundle. So only what may be signed goes into it: entries that this process
    // compiled, and those that this key or one of inputs.trusted has signed, alone or with their bundle.
    std::optional<SigningKey> sign_with{};
    Trust inputs{};  // for merge() and diff(): which signatures the bundles they read must have
};

// What was written, and what was not.
struct WriteReport {
    std::string id;
    std::uint64_t entries = 0;
    std::uint64_t bytes = 0;            // of the file
    std::uint64_t same = 0;             // merge: an earlier bundle has the same entry; diff: it has not changed
    std::uint64_t differing = 0;        // merge: an earlier bundle's entry differs and is kept; diff: it has changed
    std::uint64_t gone = 0;             // diff: only the older bundle has it
    std::uint64_t rejected = 0;         // entries that could not be read; left out
    std::vector<Key> differing_keys;    // the first hundred
    std::vector<std::string> problems;  // a sentence each, the first hundred
};

// Each of these writes a file beside `path` and puts it in place when it is whole: on an error, or when `progress` says
// stop, a file that was there before stays as it was. The same entries give the same bytes.

// Writes the entries of this machine's cache for which `choose` returns true; without `choose`, all of them. Failed
// compiles and EntryKind::derived entries are left out. If the new bundle is signed, entries that may not be signed are
// left out too, and the report says how many.
HEARTH_API Result<WriteReport> create(const std::string& path, Cache& cache,
                                      const std::function<bool(const EntryRow&)>& choose = {},
                                      const WriteOptions& options = {}, const Progress& progress = {});

// Writes all entries of some bundles into one. If several have the same key, the first bundle's entry is taken. If the
// new bundle is signed, a bundle without a trusted signature is an Error.
HEARTH_API Result<WriteReport> merge(const std::string& path, const std::vector<std::string>& bundles,
                                     const WriteOptions& options = {}, const Progress& progress = {});

// Writes the entries that `newer` has and `older` lacks or has differently: a small file to ship, which is looked up
// before `older`. An entry that was only compiled again, with the same result, has not changed.
HEARTH_API Result<WriteReport> diff(const std::string& path, const std::string& older, const std::string& newer,
                                    const WriteOptions& options = {}, const Progress& progress = {});

HEARTH_API Result<Facts> read(const std::string& path);
// Visits every entry in the order of their keys, until the visitor returns false. Returns an error, at the end, if the
// listing shows damage: entries that cannot be listed, or that lie behind the end of a file that was cut.
HEARTH_API Status list(const std::string& path, const std::function<bool(const EntryRow&)>& visit);
// What verifying found, and what the same open file says of itself.
struct Verified : VerifyReport {
    Facts facts{};
};
// Reads every entry. Returns an error if the file is no bundle or lacks a signature that `trust` demands.
HEARTH_API Result<Verified> verify(const std::string& path, const Trust& trust = {}, const Progress& progress = {});

}  // namespace bundles

}  // namespace hearth

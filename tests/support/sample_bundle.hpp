#pragma once

#include "format/bundle_writer.hpp"
#include "format/entry.hpp"
#include "support/damage.hpp"
#include "support/reseal_bundle.hpp"
#include "support/sample_entries.hpp"
#include "support/single_file.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <string>

namespace hearth::test {

// Entries as they lie in a bundle: by key, each the bytes of sample_artifact().
inline std::map<Key, std::string> sample_entries(std::uint64_t first, std::uint64_t last, std::size_t size,
                                                 std::uint64_t version = 0)
{
    std::map<Key, std::string> entries;
    for (std::uint64_t number = first; number <= last; ++number) {
        const Key key = numbered_key(number);
        const auto artifact = sample_artifact(key, size, version);
        artifact->metadata = {
            "kernel " + std::to_string(number), "nvrtc 12.4", number % 2 == 0 ? "sm_80" : "sm_90", {}};
        entries[key] = format::encode_entry(key, *artifact, {.compression = 0, .checksum = base::ChecksumKind::sha256})
                           .value()
                           .text();
    }
    return entries;
}

// Writes them; a failure fails the test.
inline format::BundleWriter::Written write_bundle(base::Files& files, const std::string& path,
                                                  const std::map<Key, std::string>& entries,
                                                  const SigningKey* sign_with = nullptr)
{
    format::BundleWriter writer(files, path, entries.size());
    for (const auto& [key, bytes] : entries)
        EXPECT_TRUE(writer.add(as_bytes(bytes)).ok());
    const auto written = writer.finish({}, sign_with);
    EXPECT_TRUE(written.ok()) << (written.ok() ? "" : written.error().message);
    return written.ok() ? *written : format::BundleWriter::Written{};
}

inline std::string bundle_bytes(const std::map<Key, std::string>& entries, const SigningKey* sign_with = nullptr)
{
    SingleFile file;
    write_bundle(file, "a bundle", entries, sign_with);
    return file.content();
}

}  // namespace hearth::test

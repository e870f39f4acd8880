#pragma once

#include "support/sample_bundle.hpp"
#include "support/scratch_directory.hpp"
#include "support/tier_fixture.hpp"
#include "tiers/bundle/bundle_tier.hpp"

#include <memory>
#include <string>

namespace hearth::test {

using Entries = std::map<Key, std::string>;

// Bundles in a scratch directory and tiers that are opened on them.
class BundleTest : public TierFixture {
protected:
    using Open = Result<std::unique_ptr<Tier>>;

    std::string path(const std::string& name = "kernels.bundle") const { return m_scratch / name; }

    // A bundle of sample_entries(), at path(name).
    std::string make(const Entries& entries, const std::string& name = "kernels.bundle",
                     const SigningKey* sign_with = nullptr) const
    {
        write_bundle(base::system_files(), path(name), entries, sign_with);
        return path(name);
    }
    Open try_open(const std::string& file, Trust trust = {}, base::Files& files = base::system_files()) const
    {
        BundleOptions options{.path = file};
        options.trust = std::move(trust);
        return tiers::BundleTier::open(options, {&m_clock, {}, lru()}, files);
    }
    std::unique_ptr<Tier> open(const std::string& file, const Trust& trust = {}) const
    {
        return try_open(file, trust).value();
    }
    static Trust demanding(const SigningKey& signer) { return {Signatures::demanded, {signer.public_key()}, {}}; }

    ScratchDirectory m_scratch;
};

}  // namespace hearth::test

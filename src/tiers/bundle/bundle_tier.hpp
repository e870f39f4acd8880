#pragma once

#include "base/files.hpp"
#include "format/bundle_file.hpp"
#include "hearth/bundle.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

namespace hearth::tiers {

// Entries of one file that is only read.
// Thread safety: all of it, without a lock; a forked child goes on with the same file.
// Ownership: the open file. Nothing is ever written.
// Cost: find() is a search of the index in memory, one read, checksum, decompress; if signatures are demanded, a digest
// of the entry too. The first lookup in a page of the index, 128 entries, also reads and checks that page.
class BundleTier final : public Tier {
public:
    static Result<std::unique_ptr<Tier>> open(const BundleOptions& options, const TierContext& context,
                                              base::Files& files);
    BundleTier(const BundleOptions& options, const TierContext& context, std::unique_ptr<format::BundleFile> file);

    std::string_view name() const override { return m_name; }
    TierTraits traits() const override;
    std::string note() override { return m_file->path(); }
    Found find(const Key& key) override;
    Found peek(const Key& key) override;
    Result<StoreReport> store(const Key& key, const Entry& entry, Victims victims, std::vector<Victim>& gone) override;
    bool contains(const Key& key) override;
    bool remove(const Key& /*key*/) override { return false; }
    void clear() override {}
    TierUsage usage() override;
    std::optional<EntryRow> info(const Key& key) override;
    void for_each(const std::function<bool(const EntryRow&)>& visit) override;
    VerifyReport verify(Repair repair, const Progress& progress) override;

private:
    // How often this process has had a hit on an entry, and when last.
    struct Use {
        std::uint32_t count;
        std::uint32_t seconds;
    };
    struct Release {
        void operator()(Use* uses) const { std::free(uses); }
    };

    // Sets `bytes` to the entry's, if there is one.
    Found read(const format::BundleFile::Place& place, Bytes& bytes) const;
    EntryRow row_of(std::size_t number, const format::BundleRow& row) const;

    const std::string m_name;
    const Clock& m_clock;
    const bool m_signed_only;
    const std::uint64_t m_max_entry_bytes;
    const std::unique_ptr<format::BundleFile> m_file;
    // One for each entry, all zero until it is used: the system gives memory only when it is touched. Accessed by
    // atomic_ref; null if there was no memory for it.
    const std::unique_ptr<Use[], Release> m_uses;
};

}  // namespace hearth::tiers

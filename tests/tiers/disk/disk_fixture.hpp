#pragma once

#include "base/clock.hpp"
#include "support/scratch_directory.hpp"
#include "support/tier_fixture.hpp"
#include "tiers/disk/disk_tier.hpp"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <vector>

namespace hearth::test {

// A cache directory and the disk tiers a test opens on it, one after the other or several at once.
class DiskTest : public TierFixture {
protected:
    using Open = Result<std::unique_ptr<Tier>>;

    Open try_open(DiskOptions options = {}, const PolicyFactory& policy = lru())
    {
        if (options.directory.empty())
            options.directory = m_layout.directory();
        return tiers::DiskTier::open(options, {&m_clock, {}, policy}, m_environment);
    }
    std::unique_ptr<Tier> open(const DiskOptions& options = {}, const PolicyFactory& policy = lru())
    {
        return try_open(options, policy).value();
    }

    // Keys first to last, each with a payload of this size.
    static void put_range(Tier& tier, std::uint64_t first, std::uint64_t last, std::size_t size)
    {
        for (std::uint64_t number = first; number <= last; ++number)
            put(tier, number, size);
    }
    // Everything a tier does.
    static void use_everything(Tier& tier)
    {
        const Key key = numbered_key(1);
        static_cast<void>(store_in(tier, key, sample_entry(key, 200)));
        tier.find(key);
        tier.info(key);
        tier.touch(key, 1);
        tier.flush();
        tier.usage();
        tier.read_note("stats");
        tier.update_note("stats", [](ByteView) { return Bytes::copy_of("x"); });
        tier.try_flight(key);
        tier.for_each([](const EntryRow&) { return true; });
        tier.for_each_use([](const EntryUse&) { return true; });
        tier.maintain({});
        tier.verify(Repair::yes, {});
        tier.would_evict({.max_entries = 1});
        tier.evict_to({.max_bytes = 0, .max_entries = 0, .unused_for = std::chrono::seconds(0)}, {});
        static_cast<void>(store_in(tier, numbered_key(2), sample_entry(numbered_key(2), 200)));
        tier.remove(key);
        tier.clear();
    }

    std::string path_of(std::uint64_t number) const { return m_layout.entry(numbered_key(number)); }

    static unsigned mode_of(const std::string& path)
    {
        struct stat found {};
        EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
        return found.st_mode & 07777U;
    }

    // As if it had last been changed then: a link itself, not what it leads to.
    static void set_modified(const std::string& path, WallTime time)
    {
        const auto seconds = std::chrono::floor<std::chrono::seconds>(time.time_since_epoch());
        const timespec both[2] = {{seconds.count(), 0}, {seconds.count(), 0}};
        ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), both, AT_SYMLINK_NOFOLLOW), 0) << path;
    }

    // What the entries' files add up to, counted without Hearth. An empty one takes nothing and is not counted: whoever
    // asks for it removes it.
    static TierUsage on_disk(const tiers::Layout& layout)
    {
        namespace fs = std::filesystem;
        TierUsage sum;
        if (!fs::exists(layout.entries()))
            return sum;
        for (const fs::directory_entry& item : fs::recursive_directory_iterator(layout.entries())) {
            if (!item.is_symlink() && item.is_regular_file() && item.file_size() > 0) {
                sum.bytes += item.file_size();
                ++sum.entries;
            }
        }
        return sum;
    }
    TierUsage on_disk() const { return on_disk(m_layout); }
    static void expect_exact_accounting(Tier& tier, const tiers::Layout& layout)
    {
        const VerifyReport report = tier.verify(Repair::no, {});
        EXPECT_TRUE(report.accounting_exact) << (report.problems.empty() ? "" : report.problems.back());
        EXPECT_EQ(tier.usage().bytes, on_disk(layout).bytes);
        EXPECT_EQ(tier.usage().entries, on_disk(layout).entries);
    }
    void expect_exact_accounting(Tier& tier) const { expect_exact_accounting(tier, m_layout); }

    static std::vector<std::string> files_in(const std::string& folder)
    {
        std::vector<std::string> names;
        for (const auto& item : std::filesystem::directory_iterator(folder))
            names.push_back(item.path().filename().string());
        return names;
    }

    // File times are the machine's: where they matter the test's clock starts from there.
    void follow_the_machine() { m_clock.set(base::system_clock().now()); }

    ScratchDirectory m_scratch;
    const tiers::Layout m_layout{m_scratch / "cache"};
    tiers::DiskEnvironment m_environment = tiers::DiskEnvironment::system();
};

}  // namespace hearth::test

#pragma once

#include "base/clock.hpp"
#include "support/scratch_directory.hpp"
#include "support/tier_fixture.hpp"
#include "tiers/disk/disk_tier.hpp"

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

    std::string path_of(std::uint64_t number) const { return m_layout.entry(numbered_key(number)); }

    static unsigned mode_of(const std::string& path)
    {
        struct stat found {};
        EXPECT_EQ(::lstat(path.c_str(), &found), 0) << path;
        return found.st_mode & 07777U;
    }

    // What the entries' files add up to, counted without Hearth.
    TierUsage on_disk() const
    {
        namespace fs = std::filesystem;
        TierUsage sum;
        if (!fs::exists(m_layout.entries()))
            return sum;
        for (const fs::directory_entry& item : fs::recursive_directory_iterator(m_layout.entries())) {
            if (!item.is_symlink() && item.is_regular_file()) {
                sum.bytes += item.file_size();
                ++sum.entries;
            }
        }
        return sum;
    }
    void expect_exact_accounting(Tier& tier) const
    {
        const VerifyReport report = tier.verify(Repair::no, {});
        EXPECT_TRUE(report.accounting_exact) << (report.problems.empty() ? "" : report.problems.back());
        EXPECT_EQ(tier.usage().bytes, on_disk().bytes);
        EXPECT_EQ(tier.usage().entries, on_disk().entries);
    }

    std::vector<std::string> files_in(const std::string& folder) const
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

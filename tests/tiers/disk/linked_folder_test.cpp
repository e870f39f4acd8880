#include "disk_fixture.hpp"
#include "format/signature.hpp"
#include "support/storing.hpp"

#include <fcntl.h>
#include <sys/stat.h>

// Whoever shares a directory can put a link where one of its folders was. Nothing behind it is ever changed.

namespace hearth::test {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

namespace {

class LinkedFolder : public DiskTest, public testing::WithParamInterface<const char*> {
protected:
    // A folder of somebody's, with old files; most have names that are ours in some folder.
    std::string elsewhere() const
    {
        std::string folder = m_scratch / "elsewhere";
        const std::string hex = numbered_key(1).hex();
        const std::string shard = folder + "/" + hex.substr(0, 2);
        for (const std::string& inner : {shard, folder + "/entries/" + hex.substr(0, 2), folder + "/tmp"})
            fs::create_directories(inner);
        for (const std::string& name :
             {std::string("thesis.tex"), std::string("0123456789abcdef-1-1"), hex, hex.substr(2),
              hex.substr(0, 2) + "/" + hex.substr(2), "entries/" + hex.substr(0, 2) + "/" + hex.substr(2),
              std::string("tmp/0123456789abcdef-1-1"), std::string("stats.slots"), std::string("stats.lock"),
              std::string("index"), std::string("index.new")}) {
            write_file(folder + "/" + name, "precious");
            const timespec long_ago[2] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
            EXPECT_EQ(::utimensat(AT_FDCWD, (folder + "/" + name).c_str(), long_ago, 0), 0);
        }
        return folder;
    }

    void replace_by_link(const std::string& target) const
    {
        std::string name = GetParam();
        if (name == "shard")
            name = "v1/entries/" + numbered_key(1).hex().substr(0, 2);
        const std::string path = m_layout.directory() + "/" + name;
        if (fs::exists(path))
            fs::rename(path, m_scratch / "moved");
        fs::create_directory_symlink(target, path);
    }
};

void use_everything(Tier& tier)
{
    const Key key = numbered_key(1);
    static_cast<void>(store_in(tier, key, sample_entry(key, 200)));
    tier.find(key);
    tier.touch(key, 1);
    tier.flush();
    tier.update_note("stats", [](ByteView) { return Bytes::copy_of("x"); });
    tier.try_flight(key);
    tier.maintain({});
    tier.verify(Repair::yes, {});
    tier.evict_to({.max_bytes = 0, .max_entries = 0, .unused_for = 0s}, {});
    static_cast<void>(store_in(tier, numbered_key(2), sample_entry(numbered_key(2), 200)));
    tier.remove(key);
    tier.clear();
}

}  // namespace

TEST_P(LinkedFolder, leads_nobody_out_of_the_cache_directory)
{
    const std::string folder = elsewhere();
    const auto before = snapshot(folder);
    const SigningKey signer = SigningKey::generate().value();
    DiskOptions demanding;
    demanding.trust = {Signatures::demanded, {signer.public_key()}, {}};
    const auto plain = open();
    const auto strict = open(demanding);  // what plain stores, it moves to quarantine
    put(*plain, 1, 100);
    put(*plain, 2, 100);
    replace_by_link(folder);
    follow_the_machine();
    m_clock.advance(1h);
    strict->find(numbered_key(2));
    use_everything(*plain);
    use_everything(*strict);
    EXPECT_EQ(snapshot(folder), before);
}

// Whoever put the link there may not be able to read what it leads to, and must not have it read for him.
TEST_P(LinkedFolder, in_a_shared_directory_is_not_read_through_either)
{
    DiskOptions ours;
    ours.users = Users::many;
    const auto tier = open(ours);
    put(*tier, 1, 100);
    tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); });
    ASSERT_TRUE(tier->find(numbered_key(1)));
    ASSERT_FALSE(tier->read_note("stats").empty());
    replace_by_link(m_scratch / "moved");  // to what was there
    const std::string folder = GetParam();
    const bool leads_to_entries = folder == "v1" || folder == "v1/entries" || folder == "shard";
    EXPECT_EQ(tier->contains(numbered_key(1)), !leads_to_entries);
    EXPECT_EQ(static_cast<bool>(tier->find(numbered_key(1))), !leads_to_entries);
    EXPECT_EQ(tier->read_note("stats").empty(), folder == "v1" || folder == "v1/notes");
}

INSTANTIATE_TEST_SUITE_P(of, LinkedFolder,
                         testing::Values("v1", "v1/tmp", "v1/flight", "v1/notes", "v1/entries", "shard", "quarantine"),
                         [](const auto& folder) {
                             const std::string path = folder.param;
                             return path.substr(path.rfind('/') + 1);
                         });

}  // namespace hearth::test

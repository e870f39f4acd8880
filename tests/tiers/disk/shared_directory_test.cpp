#include "disk_fixture.hpp"
#include "support/acting_as.hpp"

#include <sys/stat.h>
#include <unistd.h>

// A directory that several users share, and one that they should not.

namespace hearth::test {

namespace fs = std::filesystem;

namespace {

constexpr uid_t k_first = 12345;
constexpr uid_t k_second = 23456;

class SharedDirectory : public DiskTest, public testing::WithParamInterface<unsigned> {
protected:
    void SetUp() override
    {
        if (::geteuid() != 0)
            GTEST_SKIP() << "only root can act as two users";
        fs::permissions(m_scratch.path(), fs::perms(0777));
    }

    static DiskOptions shared()
    {
        DiskOptions options;
        options.users = Users::many;
        options.max_entries = 2;
        return options;
    }

    // What a user does all day: three stores where two fit, so that the other's entries are evicted.
    void work_as(uid_t user, std::uint64_t first_key)
    {
        const ActingAs somebody(user);
        ASSERT_TRUE(somebody.worked());
        const auto tier = open(shared());
        for (std::uint64_t number = first_key; number < first_key + 3; ++number) {
            put(*tier, number, 100);
            EXPECT_TRUE(holds(*tier, number));
        }
        EXPECT_EQ(tier->usage().entries, 2U);
        EXPECT_TRUE(tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); }));
        EXPECT_EQ(tier->try_flight(numbered_key(1)).outcome, FlightAttempt::Outcome::held);
        tier->flush();
        EXPECT_TRUE(tier->verify(Repair::yes, {}).accounting_exact);
        tier->maintain({});
    }
};

}  // namespace

TEST_P(SharedDirectory, serves_two_users_whatever_their_umask)
{
    const WithUmask mask(GetParam());
    for (std::uint64_t round = 0; round < 3; ++round) {
        work_as(k_first, round * 10);
        work_as(k_second, round * 10 + 5);
        fs::remove(m_layout.index());  // whose turn it is makes it again
    }
    const ActingAs second(k_second);
    const auto tier = open(shared());
    tier->clear();
    EXPECT_EQ(on_disk().entries, 0U);
}

TEST_P(SharedDirectory, lets_in_whom_its_own_mode_lets_in)
{
    const WithUmask mask(GetParam());
    fs::create_directory(m_layout.directory());
    ASSERT_EQ(::chmod(m_layout.directory().c_str(), 02770), 0);
    const auto tier = open(shared());
    put(*tier, 1, 100);
    tier->update_note("stats", [](ByteView) { return Bytes::copy_of("x"); });
    for (const auto& item : fs::recursive_directory_iterator(m_layout.directory()))
        EXPECT_EQ(mode_of(item.path().string()), item.is_directory() ? 02770U : 0660U) << item.path();
}

INSTANTIATE_TEST_SUITE_P(with_umask, SharedDirectory, testing::Values(077U, 022U), testing::PrintToStringParamName());

using UnsharedDirectory = DiskTest;

TEST_F(UnsharedDirectory, in_which_everybody_can_write_is_refused)
{
    put(*open(), 1, 100);
    for (const std::string& path : {m_layout.directory(), m_layout.root()}) {
        ASSERT_EQ(::chmod(path.c_str(), 01707), 0);
        const Open refused = try_open();
        ASSERT_FALSE(refused.ok()) << path;
        EXPECT_EQ(refused.error().code, Code::unavailable);
        for (const std::string& part : {std::string("1707"), "chmod o-w " + path + "'", std::string("HEARTH_SHARED=1")})
            EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
        DiskOptions shared;
        shared.users = Users::many;
        EXPECT_TRUE(holds(*open(shared), 1));
        ASSERT_EQ(::chmod(path.c_str(), 0770), 0);
        EXPECT_TRUE(holds(*open(), 1)) << "groups are the user's own business";
    }
}

TEST_F(UnsharedDirectory, does_not_serve_what_another_user_put_there)
{
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root can give a file away";
    const auto tier = open();
    put(*tier, 1, 100);
    ASSERT_EQ(::chown(path_of(1).c_str(), k_first, k_first), 0);
    EXPECT_EQ(tier->verify(Repair::no, {}).corrupt, 1U);
    EXPECT_EQ(tier->peek(numbered_key(1)).why, Miss::untrusted);
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::untrusted);
    EXPECT_EQ(tier->find(numbered_key(1)).why, Miss::absent) << "it was removed";
    expect_exact_accounting(*tier);
    put(*tier, 1, 100);
    EXPECT_TRUE(holds(*tier, 1));
}

}  // namespace hearth::test

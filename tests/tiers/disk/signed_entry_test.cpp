#include "disk_fixture.hpp"
#include "format/signature.hpp"
#include "support/storing.hpp"

namespace hearth::test {

namespace fs = std::filesystem;

namespace {

class SignedEntryTest : public DiskTest {
protected:
    auto open_with(Trust trust)
    {
        DiskOptions options;
        options.trust = std::move(trust);
        return open(options);
    }
    // As what was compiled here is stored.
    static void compile(Tier& tier, std::uint64_t number)
    {
        const auto artifact = sample_artifact(numbered_key(number), 500);
        artifact->origin = Origin::here;
        ASSERT_TRUE(store_in(tier, numbered_key(number), Entry(artifact)).ok());
    }
    std::string quarantined(std::uint64_t number) const
    {
        return m_layout.directory() + "/quarantine/" + numbered_key(number).hex();
    }

    SigningKey m_signer = SigningKey::generate().value();
    Trust m_demanding{Signatures::demanded, {m_signer.public_key()}, {}};
};

}  // namespace

// Capability 72.
TEST_F(SignedEntryTest, without_a_signature_is_a_miss_and_set_aside_where_one_is_demanded)
{
    {
        const auto writer = open_with({});
        put(*writer, 1, 500);
    }
    const auto reader = open_with(m_demanding);
    EXPECT_TRUE(reader->traits().demands_signatures);
    EXPECT_EQ(reader->find(numbered_key(1)).why, Miss::untrusted);
    EXPECT_TRUE(fs::exists(quarantined(1)));
    EXPECT_EQ(reader->find(numbered_key(1)).why, Miss::absent);
    expect_exact_accounting(*reader);
}

TEST_F(SignedEntryTest, of_a_trusted_key_is_used_and_of_another_is_not)
{
    {
        const auto writer = open_with({Signatures::not_asked, {}, {m_signer}});
        compile(*writer, 1);
    }
    {
        const auto stranger =
            open_with({Signatures::not_asked, {m_signer.public_key()}, {SigningKey::generate().value()}});
        compile(*stranger, 2);
        EXPECT_TRUE(holds(*stranger, 1));
        EXPECT_TRUE(holds(*stranger, 2)) << "who signs trusts his own key";
    }
    EXPECT_TRUE(holds(*open_with({}), 2)) << "who demands none reads it as any other";
    const auto reader = open_with(m_demanding);
    EXPECT_TRUE(holds(*reader, 1));
    EXPECT_EQ(reader->find(numbered_key(2)).why, Miss::untrusted);
    EXPECT_FALSE(fs::exists(quarantined(1)));
    EXPECT_TRUE(fs::exists(quarantined(2)));
    expect_exact_accounting(*reader);
}

}  // namespace hearth::test

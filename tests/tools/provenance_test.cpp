// What a stranger wrote to a server is never put under a signature of ours, whichever way it takes; with real servers
// (69: signatures).
#include "command.hpp"
#include "support/redis_server.hpp"
#include "tiers/http/http_fixture.hpp"

namespace hearth::test {

namespace {

class Provenance : public Command, public testing::WithParamInterface<const char*> {
protected:
    void SetUp() override
    {
        const std::string kind = GetParam();
        if (kind == "redis" && has_redis()) {
            m_redis = std::make_unique<RedisServer>();
            m_server = "redis://127.0.0.1:" + std::to_string(m_redis->port());
        } else if (kind == "http" && shared_nginx() != nullptr) {
            m_server = "http://" + shared_nginx()->address() + "/" + fresh_path();
        } else if (kind == "s3" && shared_s3() != nullptr) {
            m_server = s3_url(k_bucket, fresh_path());
        } else {
            GTEST_SKIP() << "There is no server of this kind on this machine.";
        }
        m_server +=
            (m_server.find('?') == std::string::npos ? "?" : "&") + std::string("timeout=10s&connect-timeout=5s");
        ASSERT_EQ(hearth({"keygen", "build.key"}).exit_code, 0);
        m_public = write("build.pub", hearth({"keygen", "--public", "build.key"}).out).string();
        as_stranger();
        put("theirs", "their code");
        run({"bundle", "create", "theirs.bundle"});
        run({"export", "theirs.hearth"});
        run({"push"});
    }

    // Somebody without a key, and with the same server.
    void as_stranger() { given = {{"HEARTH_DIR", (scratch / "stranger").string()}, {"HEARTH_REMOTE", m_server}}; }

    // The holder of the key, at an empty directory. `later`: what is done first is done without it.
    void as_signer(bool later)
    {
        given = {{"HEARTH_DIR", (scratch / ("signer" + std::to_string(++m_signers))).string()},
                 {"HEARTH_REMOTE", m_server}};
        if (!later)
            with_key();
    }
    void with_key() { given["HEARTH_SIGN_WITH"] = (scratch / "build.key").string(); }

    int run(const Words& words) { return hearth(words).exit_code; }

    // What a reader is given who believes that key alone.
    std::string reads(const std::string& name, const std::map<std::string, std::string>& from)
    {
        const std::map<std::string, std::string> before = std::exchange(given, from);
        given["HEARTH_DIR"] = (scratch / ("reader" + std::to_string(++m_readers))).string();
        given["HEARTH_TRUSTED_KEYS"] = m_public;
        given["HEARTH_DEMAND_SIGNATURES"] = "all";
        std::string bytes = hearth({"get", name}).out;
        given = before;
        return bytes;
    }

    std::string m_server;

private:
    std::unique_ptr<RedisServer> m_redis;
    std::string m_public;
    int m_signers = 0;
    int m_readers = 0;
};

TEST_P(Provenance, what_a_stranger_stored_comes_to_no_reader_under_our_signature)
{
    struct Way {
        const char* name;
        std::vector<Words> in;  // how the stranger's entry comes to the signer
        std::map<std::string, std::string> variables{};
    };
    const Way ways[] = {
        {"pull", {{"pull"}}},
        {"lookup", {{"get", "theirs"}, {"get", "theirs"}, {"get", "theirs"}}},
        {"import", {{"import", "theirs.hearth"}}},
        {"prewarm", {{"prewarm"}}},
        {"prewarm of a bundle", {{"prewarm", "--bundle", "theirs.bundle"}}},
        {"a bundle in use", {{"get", "theirs"}}, {{"HEARTH_BUNDLES", (scratch / "theirs.bundle").string()}}},
        {"merge", {{"bundle", "merge", "merged.bundle", "theirs.bundle", "--sign-with", "build.key"}}},
    };
    for (const Way& way : ways)
        for (const bool later : {false, true}) {
            SCOPED_TRACE(std::string(way.name) + (later ? ", the key is named later" : ""));
            as_signer(later);
            for (const auto& [name, value] : way.variables)
                given[name] = value;
            for (const Words& words : way.in)
                run(words);
            with_key();
            put("ours", "our code");
            run({"bundle", "create", "ours.bundle", "--sign-with", "build.key"});
            run({"push"});
            const std::map<std::string, std::string> server{{"HEARTH_REMOTE", m_server}};
            const std::map<std::string, std::string> bundle{{"HEARTH_BUNDLES", (scratch / "ours.bundle").string()}};
            const std::map<std::string, std::string> merged{{"HEARTH_BUNDLES", (scratch / "merged.bundle").string()}};
            EXPECT_EQ(reads("ours", bundle), "our code");
            EXPECT_EQ(reads("ours", server), "our code");
            for (const auto& from : {server, bundle, merged})
                EXPECT_EQ(reads("theirs", from), "") << from.begin()->second;
        }
}

TEST_P(Provenance, a_signed_entry_stays_where_an_unsigned_one_is_pushed)
{
    as_signer(false);
    put("kernel", "signed code");
    ASSERT_EQ(run({"push"}), 0);
    as_stranger();
    put("kernel", "their code");
    run({"push"});
    as_signer(false);
    given["HEARTH_DIR"] = (scratch / "signer1").string();
    run({"pull"});
    EXPECT_EQ(hearth({"get", "kernel"}).out, "signed code") << "what lies on the signer's disk is not replaced";
}

INSTANTIATE_TEST_SUITE_P(Servers, Provenance, testing::Values("redis", "http", "s3"),
                         [](const auto& of) { return std::string(of.param); });

}  // namespace

}  // namespace hearth::test

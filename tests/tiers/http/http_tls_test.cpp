#include "http_fixture.hpp"

#include <csignal>
#include <filesystem>
#include <set>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hearth::test {

namespace {

class HttpTls : public testing::Test {
protected:
    void SetUp() override
    {
        if (!has_command("nginx") || !shared_ca())
            GTEST_SKIP() << "nginx or openssl is not installed: scripts/install-deps test";
    }

    static Result<std::optional<Bytes>> get(const NginxServer& server, const std::string& options)
    {
        return open_store("https://" + server.address() + options)->get("name", soon());
    }
    // The connections to servers that this process has open. (libcurl also has pairs of sockets, to wake itself.)
    static std::set<std::string> connections()
    {
        std::set<std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
            std::error_code gone;
            sockaddr_storage peer{};
            socklen_t size = sizeof peer;
            if (::getpeername(std::stoi(entry.path().filename()), reinterpret_cast<sockaddr*>(&peer), &size) == 0 &&
                peer.ss_family == AF_INET)
                found.insert(std::filesystem::read_symlink(entry.path(), gone).string());
        }
        return found;
    }
    static std::string with_ca() { return "?ca=" + shared_ca()->file(); }
};

}  // namespace

TEST_F(HttpTls, a_certificate_is_checked)
{
    const auto unknown = get(*shared_tls_nginx(), "");
    ASSERT_FALSE(unknown.ok());
    EXPECT_EQ(unknown.error().code, Code::denied) << unknown.error().message;
    EXPECT_NE(unknown.error().message.find("ca=FILE"), std::string::npos) << unknown.error().message;
    EXPECT_TRUE(get(*shared_tls_nginx(), with_ca()).ok());
    EXPECT_TRUE(get(*shared_tls_nginx(), "?insecure=1").ok());
}

TEST_F(HttpTls, an_expired_certificate_is_denied)
{
    const auto server = NginxServer::start({.certificate = shared_ca()->expired()});
    ASSERT_TRUE(server);
    const auto got = get(*server, with_ca());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::denied) << got.error().message;
    EXPECT_NE(got.error().message.find("expired"), std::string::npos) << got.error().message;
}

TEST_F(HttpTls, another_hosts_certificate_is_denied)
{
    const auto server = NginxServer::start({.certificate = shared_ca()->of_another_host()});
    ASSERT_TRUE(server);
    const auto got = get(*server, with_ca());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::denied) << got.error().message;
    for (const auto& one :
         open_store("https://" + server->address() + with_ca())->get_many(std::vector<std::string>{"a", "b"}, soon()))
        EXPECT_EQ(one.error().code, Code::denied);
}

TEST_F(HttpTls, a_file_of_authorities_that_is_missing_is_said)
{
    const auto got = get(*shared_tls_nginx(), "?ca=/no/such/file.pem");
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::denied);
    EXPECT_NE(got.error().message.find("/no/such/file.pem"), std::string::npos) << got.error().message;
}

TEST_F(HttpTls, tls_to_a_server_that_has_none_is_an_error)
{
    const auto got = get(*shared_nginx(), with_ca());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::unavailable) << got.error().message;
}

TEST_F(HttpTls, a_server_that_goes_away_does_not_end_the_program)
{
    const auto server = NginxServer::start({.certificate = shared_ca()->good()});
    ASSERT_TRUE(server);
    const auto store = open_store("https://" + server->address() + with_ca());
    const Bytes large = sample_bytes(numbered_key(1), 3'000'000);
    ASSERT_TRUE(store->put("name", large, soon()).ok());
    server->process().kill();
    EXPECT_EQ(store->put("name", large, soon()).error().code, Code::unavailable);
}

TEST_F(HttpTls, a_host_programs_own_sigpipe_stays_its_own)
{
    // One that was blocked and waiting before is still there afterwards. (Where it is ignored, none ever waits.)
    ASSERT_TRUE(shared_tls_nginx()) << "its start sets signals for a moment";
    const auto handler = std::signal(SIGPIPE, SIG_DFL);
    sigset_t pipe;
    sigset_t before;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, &pipe, &before), 0);
    ::raise(SIGPIPE);
    EXPECT_TRUE(get(*shared_tls_nginx(), with_ca()).ok());
    sigset_t pending;
    ::sigpending(&pending);
    EXPECT_EQ(sigismember(&pending, SIGPIPE), 1);
    const timespec now{};
    ::sigtimedwait(&pipe, nullptr, &now);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    std::signal(SIGPIPE, handler);
}

TEST_F(HttpTls, a_forked_child_closes_its_parents_connections_without_a_word)
{
    const std::set<std::string> others = connections();
    const auto store = open_store("https://" + shared_tls_nginx()->address() + with_ca());
    const std::vector<std::string> names{"a", "b"};
    ASSERT_TRUE(store->get("name", soon()).ok());
    ASSERT_TRUE(store->get_many(names, soon())[0].ok());
    const std::set<std::string> before = connections();
    ASSERT_GT(before.size(), others.size());
    const pid_t child = ::fork();
    if (child == 0) {
        store->after_fork();
        const bool closed = connections() == others;
        const bool goes_on = store->get("name", soon()).ok() && store->get_many(names, soon())[1].ok();
        ::_exit(closed && goes_on ? 0 : closed ? 1 : 2);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status)) << status;
    EXPECT_EQ(WEXITSTATUS(status), 0);
    ASSERT_TRUE(store->get("name", soon()).ok());
    ASSERT_TRUE(store->get_many(names, soon())[0].ok());
    // Had the server been told goodbye, it would have closed them, and there were others now.
    EXPECT_EQ(connections(), before);
}

}  // namespace hearth::test

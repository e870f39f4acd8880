#include "http_fixture.hpp"
#include "support/forks.hpp"

#include <csignal>
#include <filesystem>
#include <set>
#include <sys/socket.h>
#include <unistd.h>

namespace hearth::test {

namespace {

class HttpTls : public OnNginx {
protected:
    void SetUp() override
    {
        OnNginx::SetUp();
        if (!shared_ca())
            GTEST_SKIP() << not_installed("openssl");
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

TEST_F(HttpTls, tls_to_a_server_that_has_none_is_an_error)
{
    EXPECT_EQ(code_of(get(*shared_nginx(), with_ca())), "unavailable");
}

// nginx refuses a client's certificate with a page; most servers end the connection, each version of TLS in its own
// way.
TEST_F(HttpTls, a_server_that_hangs_up_over_our_certificate_is_understood)
{
    const TestCa others;
    const TestCa::Certificate theirs = others.client();
    const TestCa::Certificate its = shared_ca()->good();
    const ScratchDirectory folder;
    for (const char* version : {"-tls1_2", "-tls1_3"}) {
        const auto command = [&](std::uint16_t port) {
            return std::vector<std::string>({"openssl", "s_server", "-accept", std::to_string(port), "-cert", its.file,
                                             "-key", its.key, "-CAfile", shared_ca()->file(), "-Verify", "1",
                                             "-verify_return_error", "-www", version});
        };
        std::uint16_t port = 0;
        const auto server = ServerProcess::at_a_free_port(command, folder / "log", port);
        const auto expect_refused = [&](const std::string& options, Code code, std::vector<std::string> words) {
            const auto store = open_store("https://127.0.0.1:" + std::to_string(port) + with_ca() + options);
            const std::vector<std::string> names{"a", "b"};
            for (const Error& error :
                 {store->get("name", soon()).error(), store->put("name", as_bytes("x"), soon()).error(),
                  store->remove("name", soon()).error(), store->get_many(names, soon())[1].error(),
                  store->has_many(names, soon())[1].error()}) {
                EXPECT_EQ(error.code, code) << error.message;
                for (const std::string& word : words)
                    EXPECT_NE(error.message.find(word), std::string::npos) << error.message;
            }
        };
        // TLS 1.2 has one word for this and for other things that went wrong in the handshake.
        const bool knows = std::string(version) == "-tls1_3";
        expect_refused("", knows ? Code::denied : Code::unavailable, {std::to_string(port), "cert=FILE"});
        expect_refused("&cert=" + theirs.file + "&key=" + theirs.key, Code::denied, {theirs.file, "authority"});
    }
}

TEST_F(HttpTls, a_certificate_of_ours_that_is_gone_by_the_time_it_is_needed_is_said)
{
    const TestCa::Certificate ours = shared_ca()->issue("fleeting", "DNS:client.invalid");
    const auto store =
        open_store("https://" + shared_tls_nginx()->address() + with_ca() + "&cert=" + ours.file + "&key=" + ours.key);
    std::filesystem::remove(ours.file);
    const auto got = store->get("name", soon());
    ASSERT_EQ(code_of(got), "denied");
    EXPECT_NE(got.error().message.find(ours.file), std::string::npos) << got.error().message;
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
    EXPECT_TRUE(child_was_right(child));
    ASSERT_TRUE(store->get("name", soon()).ok());
    ASSERT_TRUE(store->get_many(names, soon())[0].ok());
    // Had the server been told goodbye, it would have closed them, and there were others now.
    EXPECT_EQ(connections(), before);
}

}  // namespace hearth::test

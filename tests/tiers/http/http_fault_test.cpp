#include "http_fixture.hpp"

#include <csignal>
#include <filesystem>

namespace hearth::test {

namespace {

class HttpFault : public testing::Test {
protected:
    void SetUp() override
    {
        if (!has_command("nginx"))
            GTEST_SKIP() << "nginx is not installed: scripts/install-deps test";
    }
};

}  // namespace

TEST_F(HttpFault, a_wrong_password_is_denied_and_not_told)
{
    const auto server = NginxServer::start({.user = "who", .password = "right"});
    ASSERT_TRUE(server);
    const auto store = open_store("http://who:wr0ng-hush@" + server->address());
    const auto got = store->get("name", soon());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::denied) << got.error().message;
    EXPECT_EQ(got.error().message.find("wr0ng"), std::string::npos) << got.error().message;
    EXPECT_EQ(store->put("name", as_bytes("x"), soon()).error().code, Code::denied);
    EXPECT_EQ(store->remove("name", soon()).error().code, Code::denied);
    EXPECT_EQ(store->has_many(std::vector<std::string>{"name"}, soon())[0].error().code, Code::denied);
    EXPECT_TRUE(open_store("http://who:right@" + server->address())->put("name", as_bytes("x"), soon()).ok());
}

TEST_F(HttpFault, a_server_without_webdav_does_not_accept_put)
{
    const auto server = NginxServer::start({.takes_put = false});
    ASSERT_TRUE(server);
    const Status put = open_store("http://" + server->address())->put("name", as_bytes("x"), soon());
    ASSERT_FALSE(put.ok());
    EXPECT_EQ(put.error().code, Code::other_version);
    EXPECT_NE(put.error().message.find("WebDAV"), std::string::npos) << put.error().message;
}

TEST_F(HttpFault, a_server_that_stopped_is_unavailable)
{
    const auto server = NginxServer::start();
    ASSERT_TRUE(server);
    const auto store = open_store("http://" + server->address());
    ASSERT_TRUE(store->put("name", as_bytes("x"), soon()).ok());
    server->process().kill();
    const auto got = store->get("name", soon());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::unavailable) << got.error().message;
    EXPECT_NE(got.error().message.find(server->address()), std::string::npos) << got.error().message;
    for (const auto& one : store->get_many(std::vector<std::string>{"a", "b"}, soon()))
        EXPECT_EQ(one.error().code, Code::unavailable);
}

TEST_F(HttpFault, a_server_that_hangs_is_a_timeout_and_then_goes_on)
{
    const auto server = NginxServer::start();
    ASSERT_TRUE(server);
    const auto store = open_store("http://" + server->address());
    ASSERT_TRUE(store->put("name", as_bytes("x"), soon()).ok());
    server->process().signal(SIGSTOP);
    const auto brief = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(100); };
    EXPECT_EQ(store->get("name", brief()).error().code, Code::timeout);
    EXPECT_EQ(store->put("name", as_bytes("y"), brief()).error().code, Code::timeout);
    for (const auto& one : store->get_many(std::vector<std::string>{"a", "b"}, brief()))
        EXPECT_EQ(one.error().code, Code::timeout);
    server->process().signal(SIGCONT);
    EXPECT_TRUE(store->get("name", soon()).value().has_value());
    EXPECT_FALSE(store->get_many(std::vector<std::string>{"a", "b"}, soon())[1].value().has_value());
}

TEST_F(HttpFault, a_token_is_read_when_needed_and_again_when_refused)
{
    const ScratchDirectory folder;
    NginxServer* const server = shared_nginx();
    const auto store =
        open_store("http://" + server->address() + "/" + fresh_path() + "?token-file=" + (folder / "token"));
    const Status before = store->put("name", as_bytes("x"), soon());
    ASSERT_FALSE(before.ok());
    EXPECT_EQ(before.error().code, Code::denied);
    EXPECT_NE(before.error().message.find(folder / "token"), std::string::npos) << before.error().message;
    write_file(folder / "token", "abc\n");
    EXPECT_TRUE(store->put("name", as_bytes("x"), soon()).ok());
}

TEST_F(HttpFault, says_who_it_talks_to)
{
    NginxServer* const server = shared_nginx();
    const auto store = open_store("http://me:hush@" + server->address() + "/" + fresh_path());
    EXPECT_EQ(store->description(), server->address());
    ASSERT_TRUE(store->get("name", soon()).ok());
    EXPECT_TRUE(store->description().starts_with("nginx/")) << store->description();
    EXPECT_TRUE(store->description().ends_with(" at " + server->address())) << store->description();
}

TEST_F(HttpFault, names_lie_where_the_layout_says)
{
    NginxServer* const server = shared_nginx();
    const std::string path = fresh_path() + "/a b";
    const std::string url = "http://" + server->address() + "/" + path.substr(0, path.size() - 3) + "a%20b/";
    ASSERT_TRUE(open_store(url)->put("abcdef", as_bytes("flat"), soon()).ok());
    ASSERT_TRUE(open_store(url + "?layout=shards")->put("abcdef", as_bytes("shards"), soon()).ok());
    ASSERT_TRUE(open_store(url + "?layout=shards")->put("a", as_bytes("short"), soon()).ok());
    ASSERT_TRUE(open_store(url + "?layout=bazel")->put("abcdef", as_bytes("bazel"), soon()).ok());
    const std::string folder = server->files() + "/" + path;
    EXPECT_EQ(read_file(folder + "/abcdef"), "flat");
    EXPECT_EQ(read_file(folder + "/ab/cd/abcdef"), "shards");
    EXPECT_EQ(read_file(folder + "/a_/__/a"), "short");
    EXPECT_EQ(read_file(folder + "/ac/abcdef"), "bazel");
}

TEST_F(HttpFault, names_that_would_leave_their_folder_are_refused)
{
    const auto store = open_store("http://" + shared_nginx()->address() + "/" + fresh_path());
    for (const char* name : {"", "..", ".hidden", "a/b", "a?b", "a%2Fb", "a b", "a\r\nHost: x"}) {
        EXPECT_EQ(store->get(name, soon()).error().code, Code::invalid_argument) << name;
        EXPECT_EQ(store->put(name, as_bytes("x"), soon()).error().code, Code::invalid_argument) << name;
    }
    EXPECT_EQ(store->get(std::string(129, 'x'), soon()).error().code, Code::invalid_argument);
    EXPECT_TRUE(store->get(std::string(128, 'x'), soon()).ok());
}

}  // namespace hearth::test

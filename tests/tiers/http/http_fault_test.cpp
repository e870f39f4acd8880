#include "http_fixture.hpp"

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

TEST_F(HttpFault, a_server_without_webdav_does_not_accept_put)
{
    const auto server = NginxServer::start({.takes_put = false});
    ASSERT_TRUE(server);
    const Status put = open_store("http://" + server->address())->put("name", as_bytes("x"), soon());
    ASSERT_FALSE(put.ok());
    EXPECT_EQ(put.error().code, Code::other_version);
    EXPECT_NE(put.error().message.find("WebDAV"), std::string::npos) << put.error().message;
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

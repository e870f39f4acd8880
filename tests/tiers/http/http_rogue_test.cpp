#include "http_fixture.hpp"
#include "rogue_http_server.hpp"

// Servers that are broken or hostile: an answer is right or an error of the right kind, never short, never endless.

namespace hearth::test {

namespace {

using Connection = RogueHttpServer::Connection;

Code code_of(const Result<std::optional<Bytes>>& got)
{
    EXPECT_FALSE(got.ok());
    if (got.ok())
        return Code::invalid_argument;
    EXPECT_NE(got.error().message.find("127.0.0.1:"), std::string::npos) << got.error().message;
    return got.error().code;
}

Code code_of_get(const RogueHttpServer& server)
{
    return code_of(open_store(server.url())->get("name", soon()));
}

}  // namespace

TEST(HttpRogue, a_body_that_breaks_off_is_an_error_and_not_a_short_answer)
{
    const RogueHttpServer server("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this");
    EXPECT_EQ(code_of_get(server), Code::unavailable);
}

TEST(HttpRogue, a_chunked_body_that_breaks_off_is_an_error)
{
    const RogueHttpServer server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
    EXPECT_EQ(code_of_get(server), Code::unavailable);
}

TEST(HttpRogue, a_chunked_body_that_ends_is_taken)
{
    const RogueHttpServer server("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    EXPECT_EQ(open_store(server.url())->get("name", soon()).value().value().text(), "hello");
}

TEST(HttpRogue, a_body_without_a_length_is_refused)
{
    const RogueHttpServer server("HTTP/1.1 200 OK\r\n\r\nwho knows whether this is all");
    EXPECT_EQ(code_of_get(server), Code::corrupt);
}

TEST(HttpRogue, a_length_beyond_all_bounds_takes_no_memory)
{
    for (const char* length : {"9223372036854775807", "99999999999999999999999", "16777217"}) {
        const RogueHttpServer server([&](const Connection& one) {
            one.send(std::string("HTTP/1.1 200 OK\r\nContent-Length: ") + length + "\r\n\r\nx");
        });
        EXPECT_EQ(code_of_get(server), Code::too_large) << length;
    }
}

TEST(HttpRogue, a_negative_length_is_an_error)
{
    const RogueHttpServer server("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello");
    const auto got = open_store(server.url())->get("name", soon());
    EXPECT_FALSE(got.ok());
}

TEST(HttpRogue, more_than_the_length_says_is_left_behind_and_does_not_reach_the_next_answer)
{
    const RogueHttpServer server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\nContent-Length: "
                                 "4\r\n\r\nevil");
    const auto store = open_store(server.url());
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(store->get("name", soon()).value().value().text(), "hello");
}

TEST(HttpRogue, an_endless_body_is_cut_at_the_limit)
{
    const RogueHttpServer server([](const Connection& one) {
        const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
        one.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        while (one.send(chunk)) {
        }
    });
    EXPECT_EQ(code_of_get(server), Code::too_large);
}

TEST(HttpRogue, an_endless_error_page_says_what_its_status_says)
{
    std::string status = "404 Not Found";
    const RogueHttpServer server([&](const Connection& one) {
        const std::string chunk = "10000\r\n" + std::string(0x10000, 'x') + "\r\n";
        one.send("HTTP/1.1 " + status + "\r\nTransfer-Encoding: chunked\r\n\r\n");
        while (one.send(chunk)) {
        }
    });
    EXPECT_FALSE(open_store(server.url())->get("name", soon()).value().has_value());
}

TEST(HttpRogue, an_endless_header_is_an_error)
{
    const RogueHttpServer server([](const Connection& one) {
        one.send("HTTP/1.1 200 OK\r\n");
        while (one.send("X-More: " + std::string(1000, 'x') + "\r\n")) {
        }
    });
    EXPECT_FALSE(open_store(server.url())->get("name", soon()).ok());
}

TEST(HttpRogue, garbage_is_not_http)
{
    const RogueHttpServer server("SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n");
    EXPECT_EQ(code_of_get(server), Code::corrupt);
}

TEST(HttpRogue, a_server_that_says_nothing_is_unavailable)
{
    const RogueHttpServer server("");
    EXPECT_EQ(code_of_get(server), Code::unavailable);
}

TEST(HttpRogue, statuses_are_told_apart)
{
    const std::pair<const char*, Code> cases[] = {
        {"401 x", Code::denied},        {"403 x", Code::denied},      {"405 x", Code::other_version},
        {"501 x", Code::other_version}, {"413 x", Code::too_large},   {"507 x", Code::no_space},
        {"408 x", Code::unavailable},   {"429 x", Code::unavailable}, {"500 x", Code::unavailable},
        {"503 x", Code::unavailable},   {"418 x", Code::unavailable}, {"206 x", Code::unavailable},
    };
    for (const auto& [status, code] : cases) {
        const RogueHttpServer server(std::string("HTTP/1.1 ") + status + "\r\nContent-Length: 0\r\n\r\n");
        const auto got = open_store(server.url())->get("name", soon());
        EXPECT_EQ(code_of(got), code) << status;
        EXPECT_NE(got.error().message.find(std::string(status).substr(0, 3)), std::string::npos) << got.error().message;
        const auto has = open_store(server.url())->has_many(std::vector<std::string>{"a", "b"}, soon());
        if (std::string(status) != "206 x") {
            EXPECT_FALSE(has[0].ok()) << status;
            EXPECT_FALSE(has[1].ok()) << status;
        }
    }
    const RogueHttpServer gone("HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n");
    EXPECT_FALSE(open_store(gone.url())->get("name", soon()).value().has_value());
}

TEST(HttpRogue, a_redirect_is_followed_and_a_loop_is_not)
{
    const RogueHttpServer server([](const Connection& one) {
        if (one.path() == "/old/name")
            one.send("HTTP/1.1 302 Found\r\nLocation: /new/name\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        else if (one.path() == "/new/name")
            one.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nmoved");
        else
            one.send("HTTP/1.1 302 Found\r\nLocation: /loop/name\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    });
    EXPECT_EQ(open_store(server.url() + "/old")->get("name", soon()).value().value().text(), "moved");
    EXPECT_EQ(code_of(open_store(server.url() + "/loop")->get("name", soon())), Code::unavailable);
}

TEST(HttpRogue, a_redirected_put_keeps_its_body)
{
    std::string stored;
    {
        const RogueHttpServer server([&](const Connection& one) {
            if (one.path() == "/old/name") {
                one.send("HTTP/1.1 302 Found\r\nLocation: /new/name\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                return;
            }
            stored = one.request();
            one.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        });
        ASSERT_TRUE(open_store(server.url() + "/old")->put("name", as_bytes("the body"), soon()).ok());
    }
    EXPECT_TRUE(stored.starts_with("PUT /new/name ")) << stored;
    EXPECT_TRUE(stored.ends_with("\r\n\r\nthe body")) << stored;
}

TEST(HttpRogue, a_redirect_to_a_file_is_refused)
{
    const RogueHttpServer server("HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n");
    EXPECT_EQ(code_of_get(server), Code::corrupt);
}

TEST(HttpRogue, a_redirect_elsewhere_does_not_take_the_password_along)
{
    std::string seen;
    {
        const RogueHttpServer thief([&](const Connection& one) {
            seen = one.request();
            one.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        });
        const RogueHttpServer server("HTTP/1.1 302 Found\r\nLocation: " + thief.url() +
                                     "/x\r\nContent-Length: 0\r\n\r\n");
        EXPECT_TRUE(open_store("http://me:hush@" + server.address())->get("name", soon()).ok());
    }
    EXPECT_TRUE(seen.starts_with("GET /x ")) << seen;
    EXPECT_EQ(seen.find("Authorization"), std::string::npos) << seen;
}

TEST(HttpRogue, a_drip_ends_at_the_deadline)
{
    const RogueHttpServer server([](const Connection& one) {
        one.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        while (one.send("x") && !one.client_left_within(5)) {
        }
    });
    const auto store = open_store(server.url());
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
    EXPECT_EQ(code_of(store->get("name", deadline)), Code::timeout);
    const std::vector<std::string> names{"a", "b", "c"};
    for (const auto& got : store->get_many(names, std::chrono::steady_clock::now() + std::chrono::milliseconds(200)))
        EXPECT_EQ(code_of(got), Code::timeout);
}

TEST(HttpRogue, a_server_that_cannot_be_reached_is_told_from_one_that_is_slow)
{
    remotes::StoreOptions options = options_for("http://192.0.2.1:9");  // reserved for examples: nobody is there
    options.connect_timeout = std::chrono::milliseconds(50);
    const auto got = tiers::open_http_store(options).value()->get("name", soon());
    ASSERT_FALSE(got.ok());
    EXPECT_EQ(got.error().code, Code::unavailable) << got.error().message;
}

TEST(HttpRogue, more_threads_than_connections_wait_for_their_turn)
{
    const RogueHttpServer server("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello");
    remotes::StoreOptions options = options_for(server.url());
    options.max_connections = 1;
    const auto store = tiers::open_http_store(options).value();
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&] {
            for (int i = 0; i < 5; ++i)
                EXPECT_EQ(store->get("name", soon()).value().value().text(), "hello");
        });
    for (std::thread& thread : threads)
        thread.join();
}

}  // namespace hearth::test

#include "http_fixture.hpp"
#include "rogue_http_server.hpp"
#include "support/manual_clock.hpp"

// Bearer tokens, from a file.

namespace hearth::test {

namespace {

constexpr const char* k_token = "eyJhbGciOi.s3cr3t-t0ken_~+/==";
constexpr const char* k_wrong = "eyJhbGciOi.wr0ng-t0ken_~+/==";

class HttpToken : public OnNginx {
protected:
    std::string file_with(const std::string& token) const
    {
        write_file(m_folder / "token", token + "\n");
        return m_folder / "token";
    }
    std::string url_with(const std::string& token) const
    {
        return "http://" + m_server->address() + "?token-file=" + file_with(token);
    }
    static void expect_hidden(const std::string& text)
    {
        EXPECT_EQ(text.find("t0ken"), std::string::npos) << text;
        EXPECT_EQ(text.find("eyJ"), std::string::npos) << text;
    }
    template <class T>
    static void expect_denied(const Result<T>& result)
    {
        ASSERT_FALSE(result.ok());
        EXPECT_EQ(result.error().code, Code::denied) << result.error().message;
        expect_hidden(result.error().message);
        expect_hidden(result.error().log);
    }

    ScratchDirectory m_folder;
    const std::unique_ptr<NginxServer> m_server = NginxServer::start({.token = k_token});
};

}  // namespace

TEST_F(HttpToken, it_is_sent_in_the_header_for_it_and_nowhere_else)
{
    std::string seen;
    {
        const RogueHttpServer server([&](const RogueHttpServer::Connection& one) {
            seen = one.request();
            one.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        });
        const auto store = open_store(server.url() + "?token-file=" + file_with(k_token));
        EXPECT_FALSE(store->get("name", soon()).value().has_value());
    }
    const std::string header = std::string("\r\nAuthorization: Bearer ") + k_token + "\r\n";
    ASSERT_NE(seen.find(header), std::string::npos) << seen;
    expect_hidden(seen.erase(seen.find(header), header.size()));
}

TEST_F(HttpToken, none_or_a_wrong_one_is_denied_and_the_right_one_opens_a_server_that_demands_it)
{
    expect_denied(open_store("http://" + m_server->address())->get("name", soon()));
    const auto store = open_store(url_with(k_wrong));
    expect_denied(store->get("name", soon()));
    expect_denied(store->put("name", as_bytes("x"), soon()));
    expect_denied(store->remove("name", soon()));
    const std::vector<std::string> names{"a", "b"};
    for (const auto& got : store->get_many(names, soon()))
        expect_denied(got);
    for (const auto& has : store->has_many(names, soon()))
        expect_denied(has);
    file_with(k_token);
    EXPECT_EQ(code_of(store->put("name", as_bytes("x"), soon())), "ok") << "and read again, since it may be replaced";
    EXPECT_EQ(store->get("name", soon()).value().value().text(), "x");
    EXPECT_TRUE(store->has_many(std::vector<std::string>{"name", "other"}, soon())[0].value());
    EXPECT_TRUE(store->remove("name", soon()).value());
}

TEST_F(HttpToken, no_text_that_leaves_a_remote_shows_it)
{
    // One server refuses; another repeats whatever it was sent, wherever it can.
    const RogueHttpServer echo([](const RogueHttpServer::Connection& one) {
        std::string words = one.request();
        const std::size_t at = words.find("Authorization: ");
        words = at == std::string::npos ? words : words.substr(at, words.find("\r\n", at) - at);
        one.send("HTTP/1.1 403 " + words + "\r\nX-" + words + "\r\nContent-Length: " + std::to_string(words.size()) +
                 "\r\nConnection: close\r\n\r\n" + words);
    });
    for (const std::string& address : {m_server->address(), echo.address()}) {
        const std::string url = "http://" + address + "?token-file=" + file_with(k_wrong);
        expect_denied(open_store(url)->get("name", soon()));

        std::string log;
        const ManualClock clock;
        remotes::StoreTier tier = open_tier({.url = url}, clock, log);
        EXPECT_EQ(tier.find(numbered_key(1)).why, Miss::outage);
        EXPECT_NE(log.find(address), std::string::npos) << "it is said that it refused";
        const remotes::Check check = tier.check(1);
        EXPECT_FALSE(check.reachable.ok());
        const remotes::Report report = tier.report();
        EXPECT_FALSE(report.problem.empty());
        for (const std::string& text :
             {log, check.server, check.reachable.error().message, check.writable.error().message, report.server,
              report.problem, report.lease_problem, tier.note()})
            expect_hidden(text);

        const auto store = open_store(url);
        expect_hidden(store->description());
        expect_denied(store->get("name", soon()));
        expect_hidden(store->description());
    }
}

TEST_F(HttpToken, a_redirect_elsewhere_takes_neither_it_nor_a_password_along)
{
    const std::string token = "?token-file=" + file_with(k_token);
    for (const auto& [login, options] : {std::pair<std::string, std::string>("", token), {"me:s3cr3t-t0ken@", ""}}) {
        std::string seen;
        {
            const RogueHttpServer thief([&](const RogueHttpServer::Connection& one) {
                seen = one.request();
                one.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            });
            const RogueHttpServer server("HTTP/1.1 302 Found\r\nLocation: " + thief.url() +
                                         "/x\r\nContent-Length: 0\r\n\r\n");
            EXPECT_TRUE(open_store("http://" + login + server.address() + options)->get("name", soon()).ok());
        }
        EXPECT_TRUE(seen.starts_with("GET /x ")) << seen;
        EXPECT_EQ(seen.find("Authorization"), std::string::npos) << seen;
        expect_hidden(seen);
    }
}

TEST_F(HttpToken, a_file_that_is_missing_or_holds_no_token_is_named_and_not_shown_and_is_read_when_needed)
{
    const auto store = open_store("http://" + m_server->address() + "?token-file=" + (m_folder / "token"));
    const auto expect_named = [&] {
        const Status put = store->put("name", as_bytes("x"), soon());
        expect_denied(put);
        EXPECT_NE(put.error().message.find(m_folder / "token"), std::string::npos) << put.error().message;
    };
    expect_named();
    file_with("two t0ken\nlines");
    expect_named();
    file_with(k_token);
    EXPECT_EQ(code_of(store->put("name", as_bytes("x"), soon())), "ok");
}

}  // namespace hearth::test

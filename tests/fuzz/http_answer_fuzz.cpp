// The input is what a server sends to libcurl, as we have set it up. Its first character is what was asked (g, h, p,
// d); '\x1E' ends what one connection gets and begins what the next one does, after a redirection.

#include "base/text.hpp"
#include "fuzz/allocations.hpp"
#include "fuzz/fuzz.hpp"
#include "tiers/http/plain_dialect.hpp"
#include "tiers/http/s3_dialect.hpp"
#include "tiers/http/transfer.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <vector>

namespace {

using namespace hearth;
using namespace hearth::tiers::http;
using tiers::http::Request;

constexpr std::uint64_t k_most_object_bytes = 5000;
constexpr std::size_t k_most_refusal_bytes = 65536;
constexpr char k_next_connection = '\x1E';

// A server in this very thread: libcurl calls it when it has connected, and what it answers is there before it is
// asked.
class Server {
public:
    Server()
    {
        sockaddr_un name{};
        name.sun_family = AF_UNIX;
        socklen_t size = sizeof name.sun_family;  // no name: the system gives it one, which is in no folder
        fuzz::require(::bind(m_listener, reinterpret_cast<sockaddr*>(&name), size) == 0 &&
                          ::listen(m_listener, 8) == 0 &&
                          ::getsockname(m_listener, reinterpret_cast<sockaddr*>(&name), &(size = sizeof name)) == 0,
                      "a socket can be listened at");
        m_name.assign(name.sun_path + 1, size - offsetof(sockaddr_un, sun_path) - 1);
        const Result<Answer> works =
            answer({.url = "http://server/", .max_bytes = 2},
                   "HTTP/1.1 302 Found\r\nLocation: http://other:81/\r\n\r\n\x1EHTTP/1.1 200 OK"
                   "\r\nContent-Length: 2\r\n\r\nOK");
        fuzz::require(works.ok() && works->body.text() == "OK", "the server works");
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() { ::close(m_listener); }

    Result<Answer> answer(const Request& request, std::string_view bytes)
    {
        m_rest = bytes;
        m_transfer =
            Transfer::make(m_options, m_sockets, request, std::chrono::steady_clock::now() + std::chrono::seconds(10));
        CURL* const curl = m_transfer->handle();
        // Redirections too lead here, wherever they point to: no name is looked up, and no TLS is set up.
        curl_easy_setopt(curl, CURLOPT_ABSTRACT_UNIX_SOCKET, m_name.c_str());
        curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http");
        curl_easy_setopt(curl, CURLOPT_PROXY, "");
        curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, 1L);
        curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, &Server::on_connected);
        curl_easy_setopt(curl, CURLOPT_PREREQDATA, this);
        const CURLcode code = curl_easy_perform(curl);
        for (const int connection : m_connections)
            ::close(connection);
        m_connections.clear();
        return m_transfer->finish(code);
    }
    std::int64_t announced_length() const
    {
        curl_off_t length = -1;
        curl_easy_getinfo(m_transfer->handle(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
        return length;
    }

private:
    static int on_connected(void* self, char*, char*, int, int)
    {
        static_cast<Server*>(self)->send_next();
        return CURL_PREREQFUNC_OK;
    }

    void send_next()
    {
        const int connection = ::accept4(m_listener, nullptr, nullptr, SOCK_CLOEXEC);
        const std::string_view bytes = m_rest.substr(0, m_rest.find(k_next_connection));
        m_rest.remove_prefix(std::min(m_rest.size(), bytes.size() + 1));
        fuzz::require(::send(connection, bytes.data(), bytes.size(), MSG_DONTWAIT) ==
                          static_cast<ssize_t>(bytes.size()),
                      "a socket has room for an input");
        ::shutdown(connection, SHUT_WR);
        m_connections.push_back(connection);
    }

    const ClientOptions m_options{.address = "server:80", .connect_timeout = std::chrono::seconds(10)};
    SocketBook m_sockets;
    std::unique_ptr<Transfer> m_transfer;
    const int m_listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    std::string m_name;
    std::string_view m_rest;  // what has not been sent yet
    std::vector<int> m_connections;
};

Method method_of(char letter)
{
    return letter == 'h' ? Method::head : letter == 'p' ? Method::put : letter == 'd' ? Method::remove : Method::get;
}

void check_shown(std::string_view text, std::size_t most)
{
    fuzz::require(text.size() <= most && fuzz::is_printable(text), "what is shown is short, and can be printed");
}

void check_error(const Error& error)
{
    fuzz::require(error.message.ends_with('.') || error.message.ends_with('?'), "what goes wrong is a sentence");
    check_shown(error.message, 600);
}

void check_answer(const Answer& answer, const Request& request, std::size_t sent, std::int64_t announced)
{
    fuzz::require(answer.status >= 100 && answer.status <= 999, "an answer has a status");
    fuzz::require(answer.body.size() <= (answer.ok() ? k_most_object_bytes : k_most_refusal_bytes),
                  "no body is longer than was asked for");
    fuzz::require(answer.body.size() <= sent, "nor than what was sent");
    fuzz::require(request.method != Method::head || answer.body.empty(), "an answer to HEAD has none");
    if (request.method == Method::get && answer.ok() && announced >= 0)
        fuzz::require(answer.body.size() == static_cast<std::uint64_t>(announced), "one that was cut is not whole");
    check_shown(base::printable(answer.server), 203);

    static PlainDialect plain({.base = "http://server", .address = "server:80"});
    static S3Dialect s3({.bucket_url = "http://server/b", .address = "server:80", .bucket = "b", .region = "r"}, {});
    check_error(plain.refusal(answer, request.method));
    check_error(s3.refusal(answer, request.method));
    fuzz::require(!s3.says_absent(answer) || plain.says_absent(answer), "what S3 has not is 404 or 410");
}

void try_input(std::string_view input)
{
    static Server server;
    if (input.empty())
        return;
    const std::string_view sent = input.substr(1);
    const Request request{.method = method_of(input[0]),
                          .url = "http://server/name",
                          .headers = {},
                          .body = as_bytes("content"),
                          .login = {},
                          .max_bytes = k_most_object_bytes};
    const fuzz::Allocations allocations;
    const Result<Answer> answer = server.answer(request, sent);
    fuzz::require(allocations.largest() <= 2 * k_most_refusal_bytes,
                  "memory is taken for what may be asked for, not for what is announced");
    if (answer.ok())
        check_answer(*answer, request, sent.size(), server.announced_length());
    else
        check_error(answer.error());
}

const fuzz::Added k_added{{"http_answer", 60'000, try_input}};

}  // namespace

#include "serve/http_server.hpp"

#include "terminal/exit.hpp"
#include "terminal/system_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include <sys/resource.h>
#include <sys/socket.h>

namespace hearth::cli {

namespace {

constexpr unsigned k_most_clients = 4000;
constexpr std::size_t k_client_memory = 16 << 10;  // headers of a request must fit into it
constexpr std::chrono::seconds k_patience{10};     // for a request from its first byte, and between two

// A client takes a descriptor. The usual limit of 1024 is for programs that use select().
unsigned client_limit()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 900;
    limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, k_most_clients + 100);
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return std::min(k_most_clients, static_cast<unsigned>(std::max<rlim_t>(limit.rlim_cur, 200) - 100));
}

// Marks a request whose headers were seen.
char g_seen = 0;

}  // namespace

std::optional<std::string> HttpRequest::value(MHD_ValueKind kind, const char* name) const
{
    const char* const text = Microhttpd::get().lookup_value(m_connection, kind, name);
    return text != nullptr ? std::optional<std::string>(text) : std::nullopt;
}

HttpServer::HttpServer(Descriptor& listening, Answer answer) : m_http(Microhttpd::get()), m_answer(std::move(answer))
{
    m_daemon = m_http.start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &HttpServer::on_request, this, MHD_OPTION_LISTEN_SOCKET,
        listening.get(), MHD_OPTION_CONNECTION_LIMIT, client_limit(), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        k_client_memory, MHD_OPTION_CONNECTION_TIMEOUT, static_cast<unsigned>(k_patience.count()),
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, &HttpServer::on_completed, this,
        MHD_OPTION_NOTIFY_CONNECTION, &HttpServer::on_connection, this, MHD_OPTION_END);
    if (m_daemon == nullptr)
        fail(fmt::format("The server could not be started: {}.", system_error(errno)));
    static_cast<void>(listening.release());
}

HttpServer::~HttpServer()
{
    m_http.stop_daemon(m_daemon);  // and closes the listening socket
}

void HttpServer::send_idle_away()
{
    const std::lock_guard lock(m_mutex);
    const Steady::time_point since = Steady::now() - k_patience;
    for (const auto& [socket, active] : m_clients)
        if (active < since)
            ::shutdown(socket, SHUT_RDWR);  // the server's thread sees it closed, and forgets it
}

MHD_Result HttpServer::on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                                  const char* /*version*/, const char* /*upload*/, std::size_t* upload_size,
                                  void** state)
{
    if (*state == nullptr) {
        *state = &g_seen;
        return MHD_YES;
    }
    if (*upload_size != 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    auto& server = *static_cast<HttpServer*>(self);
    try {
        return server.queue(connection, server.m_answer(HttpRequest(connection, method, url)));
    } catch (const Failure& failure) {
        return server.queue(connection, {.status = 500, .body = failure.sentence + "\n"});
    } catch (const std::exception& error) {
        return server.queue(connection,
                            {.status = 500, .body = fmt::format("This should never happen: {}.\n", error.what())});
    }
}

MHD_Result HttpServer::queue(MHD_Connection* connection, const HttpResponse& response) const
{
    // It is copied: const_cast is for an interface that can also take over what it is given.
    MHD_Response* const answer =
        m_http.create_response(response.body.size(), const_cast<char*>(response.body.data()), MHD_RESPMEM_MUST_COPY);
    if (answer == nullptr)
        return MHD_NO;
    m_http.add_header(answer, "Content-Type", response.type.c_str());
    for (const auto& [name, value] : response.headers)
        m_http.add_header(answer, name.c_str(), value.c_str());
    const MHD_Result queued = m_http.queue_response(connection, response.status, answer);
    m_http.destroy_response(answer);
    return queued;
}

void HttpServer::on_completed(void* self, MHD_Connection* connection, void** /*state*/,
                              MHD_RequestTerminationCode /*code*/)
{
    static_cast<HttpServer*>(self)->is_active(connection);
}

void HttpServer::on_connection(void* self, MHD_Connection* connection, void** /*context*/,
                               MHD_ConnectionNotificationCode code)
{
    auto& server = *static_cast<HttpServer*>(self);
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        server.is_active(connection);
        return;
    }
    // Before the socket is closed, so that nobody shuts another's down by its number.
    const std::lock_guard lock(server.m_mutex);
    server.m_clients.erase(server.socket_of(connection));
}

void HttpServer::is_active(MHD_Connection* connection)
{
    const std::lock_guard lock(m_mutex);
    m_clients[socket_of(connection)] = Steady::now();
}

int HttpServer::socket_of(MHD_Connection* connection) const
{
    const MHD_ConnectionInfo* const info = m_http.connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info != nullptr ? info->connect_fd : -1;
}

}  // namespace hearth::cli

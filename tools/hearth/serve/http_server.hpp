#pragma once

#include "process/descriptor.hpp"
#include "serve/microhttpd.hpp"

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hearth::cli {

// What a client asks. Texts are as they came, but for the path and the arguments, whose %-escapes are resolved.
class HttpRequest {
public:
    HttpRequest(MHD_Connection* connection, std::string_view method, std::string_view path)
        : m_connection(connection), m_method(method), m_path(path)
    {
    }
    std::string_view method() const { return m_method; }
    std::string_view path() const { return m_path; }
    // None if there is none.
    std::optional<std::string> header(const char* name) const { return value(MHD_HEADER_KIND, name); }
    std::optional<std::string> argument(const char* name) const { return value(MHD_GET_ARGUMENT_KIND, name); }
    std::optional<std::string> cookie(const char* name) const { return value(MHD_COOKIE_KIND, name); }

private:
    std::optional<std::string> value(MHD_ValueKind kind, const char* name) const;

    MHD_Connection* m_connection;
    std::string_view m_method;
    std::string_view m_path;
};

struct HttpResponse {
    unsigned status = 200;
    std::string type = "text/plain; charset=utf-8";
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers{};
};

// A server of small answers. One thread serves every client, so what answers must be quick. A client that completes no
// request for a while is sent away, however busily it trickles; bodies of requests are read and forgotten.
// Thread safety: the answering function is called from the server's thread; everything else belongs to the owner's.
class HttpServer {
public:
    using Answer = std::function<HttpResponse(const HttpRequest&)>;

    // Serves who connects to a listening socket, which is its own from here on. Fails with a sentence if it cannot.
    HttpServer(Descriptor& listening, Answer answer);
    ~HttpServer();
    HttpServer(const HttpServer&) = delete;
    HttpServer& operator=(const HttpServer&) = delete;

    // To be called every second or so.
    void send_idle_away();

private:
    using Steady = std::chrono::steady_clock;

    static MHD_Result on_request(void* self, MHD_Connection* connection, const char* url, const char* method,
                                 const char* version, const char* upload, std::size_t* upload_size, void** state);
    static void on_completed(void* self, MHD_Connection* connection, void** state, MHD_RequestTerminationCode code);
    static void on_connection(void* self, MHD_Connection* connection, void** context,
                              MHD_ConnectionNotificationCode code);
    MHD_Result queue(MHD_Connection* connection, const HttpResponse& response) const;
    void is_active(MHD_Connection* connection);
    int socket_of(MHD_Connection* connection) const;

    const Microhttpd& m_http;
    Answer m_answer;
    std::mutex m_mutex;
    std::unordered_map<int, Steady::time_point> m_clients;  // by socket: when it last connected or completed a request
    MHD_Daemon* m_daemon = nullptr;
};

}  // namespace hearth::cli

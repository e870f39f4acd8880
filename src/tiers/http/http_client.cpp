#include "tiers/http/http_client.hpp"

#include "base/error.hpp"
#include "base/own_thread.hpp"
#include "base/signal_guard.hpp"

#include <mutex>
#include <unistd.h>
#include <unordered_map>

namespace hearth::tiers::http {

HttpClient::HttpClient(ClientOptions options)
    : m_options(std::move(options)), m_permits(m_options.max_connections), m_process(::getpid())
{
    // So that giving one back never fails.
    m_singles.reserve(m_options.max_connections);
    m_batches.reserve(1);
}

HttpClient::~HttpClient()
{
    // A child whose fork was not noticed must not close its parent's connections.
    if (::getpid() != m_process)
        after_fork();
    const base::SignalGuard guard(SIGPIPE, m_options.tls);
    m_singles.clear();
    m_batches.clear();
}

Result<Answer> HttpClient::perform(const Request& request, SteadyTime deadline)
{
    return std::move(perform_many({&request, 1}, deadline).front());
}

std::vector<Result<Answer>> HttpClient::perform_many(std::span<const Request> requests, SteadyTime deadline)
{
    using Answers = std::vector<Result<Answer>>;
    if (requests.empty())
        return {};
    const std::size_t wanted = std::min(requests.size(), m_options.max_connections);
    const std::size_t parallel = std::chrono::steady_clock::now() < deadline ? m_permits.take(wanted, deadline) : 0;
    if (parallel == 0)
        return Answers(requests.size(), passed_deadline(m_options.address));
    Answers answers;
    std::vector<Connections>& idle = requests.size() == 1 ? m_singles : m_batches;
    const base::SignalGuard guard(SIGPIPE, m_options.tls);
    if (Connections connections = take(idle)) {
        answers = perform_on(connections.get(), requests, parallel, deadline);
        // If several batches ran at once, one of their connections is kept. The others are closed without the lock.
        const std::lock_guard lock(m_mutex);
        if (requests.size() == 1 || idle.empty())
            idle.push_back(std::move(connections));
    } else {
        answers.assign(requests.size(),
                       error(Code::unavailable, "libcurl could not be set up to talk to {}: is there memory left?",
                             m_options.address));
    }
    m_permits.give_back(parallel);
    return answers;
}

HttpClient::Connections HttpClient::take(std::vector<Connections>& idle)
{
    {
        const std::lock_guard lock(m_mutex);
        if (!idle.empty()) {
            // The one used last: the server may have closed the older ones.
            Connections last = std::move(idle.back());
            idle.pop_back();
            return last;
        }
    }
    Connections made(curl_ready() ? curl_multi_init() : nullptr);
    if (made) {
        const auto most = static_cast<long>(m_options.max_connections);
        curl_multi_setopt(made.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, most);
        curl_multi_setopt(made.get(), CURLMOPT_MAXCONNECTS, most);
        curl_multi_setopt(made.get(), CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    }
    return made;
}

// libcurl is told to leave signals alone (CURLOPT_NOSIGNAL). So this function must keep SIGPIPE from a host program
// that does not ignore it: plain sockets are written to with MSG_NOSIGNAL, but TLS libraries may write without it.
//
// Every request has a handle of its own. Before 8.1, if an answer begins with a line that continues a header, libcurl
// uses the header of the handle's last request, which is already freed (curl issue 11101).
std::vector<Result<Answer>> HttpClient::perform_on(CURLM* connections, std::span<const Request> requests,
                                                   std::size_t parallel, SteadyTime deadline)
{
    std::vector<Result<Answer>> answers(requests.size(), passed_deadline(m_options.address));
    struct UnderWay {
        std::unique_ptr<Transfer> transfer;
        std::size_t request;
    };
    std::unordered_map<CURL*, UnderWay> under_way;
    std::size_t next = 0;
    while (true) {
        while (next < requests.size() && under_way.size() < parallel && std::chrono::steady_clock::now() < deadline) {
            std::unique_ptr<Transfer> transfer = Transfer::make(m_options, m_sockets, requests[next], deadline);
            if (!transfer || curl_multi_add_handle(connections, transfer->handle()) != CURLM_OK)
                break;
            CURL* const handle = transfer->handle();
            under_way.emplace(handle, UnderWay{std::move(transfer), next});
            ++next;
        }
        if (under_way.empty())
            break;
        int running = 0;
        CURLMcode state = CURLM_OK;
        {
            // Names are looked up on threads that libcurl starts here.
            const base::SignalsBlocked inherited;
            state = curl_multi_perform(connections, &running);
        }
        int waiting = 0;
        bool one_ended = false;
        while (const CURLMsg* message = curl_multi_info_read(connections, &waiting)) {
            if (message->msg != CURLMSG_DONE)
                continue;
            CURL* const handle = message->easy_handle;
            const CURLcode code = message->data.result;
            UnderWay ended = std::move(under_way.extract(handle).mapped());
            curl_multi_remove_handle(connections, handle);
            answers[ended.request] = ended.transfer->finish(code);
            one_ended = true;
        }
        // Every transfer has the deadline as its own limit, and wakes us for it.
        if (state == CURLM_OK && !one_ended)
            state = curl_multi_poll(connections, nullptr, 0, 1000, nullptr);
        if (state != CURLM_OK)
            break;
    }
    // Reached only if libcurl itself failed.
    for (auto& [handle, left] : under_way) {
        curl_multi_remove_handle(connections, handle);
        answers[left.request] = left.transfer->finish(CURLE_OUT_OF_MEMORY);
    }
    return answers;
}

// Closing a handle of libcurl would write to the server on a connection that the parent goes on using. So the sockets
// are closed by number, and the handles are abandoned: threads that do not exist in the child may have left them in any
// state. Each fork leaks what they hold: some memory, and the pipes that libcurl wakes itself with.
void HttpClient::after_fork() noexcept
{
    m_sockets.close_all();
    m_permits.after_fork();
    const std::lock_guard lock(m_mutex);
    for (std::vector<Connections>* idle : {&m_singles, &m_batches}) {
        for (Connections& one : *idle)
            static_cast<void>(one.release());
        idle->clear();
    }
    m_process = ::getpid();
}

}  // namespace hearth::tiers::http

#include "tiers/http/http_client.hpp"

#include "tiers/http/curl_library.hpp"

#include <unistd.h>

namespace hearth::tiers::http {

namespace {

Error no_handle(const std::string& address)
{
    return {Code::unavailable, "libcurl could not be set up to talk to " + address + ": is there memory left?", {}};
}

}  // namespace

HttpClient::HttpClient(ClientOptions options)
    : m_options(std::move(options)), m_permits(m_options.max_connections), m_process(::getpid())
{
    // So that giving one back never fails.
    m_idle_singles.reserve(m_options.max_connections);
}

HttpClient::~HttpClient()
{
    // A child that ends without having been told of the fork must not say goodbye for its parent.
    if (::getpid() != m_process)
        after_fork();
}

Result<Answer> HttpClient::perform(const Request& request, SteadyTime deadline)
{
    if (std::chrono::steady_clock::now() >= deadline || m_permits.take(1, deadline) == 0)
        return passed_deadline(m_options.address);
    Result<Answer> answer = no_handle(m_options.address);
    if (std::unique_ptr<Batch> single = take_single()) {
        const SigpipeGuard guard(m_options.tls);
        answer = std::move(single->perform({&request, 1}, 1, deadline).front());
        give_back_single(std::move(single));
    }
    m_permits.give_back(1);
    return answer;
}

std::vector<Result<Answer>> HttpClient::perform_many(std::span<const Request> requests, SteadyTime deadline)
{
    if (requests.size() <= 1) {
        std::vector<Result<Answer>> answers;
        for (const Request& request : requests)
            answers.push_back(perform(request, deadline));
        return answers;
    }
    const std::size_t parallel = m_permits.take(std::min(requests.size(), m_options.max_connections), deadline);
    if (parallel == 0)
        return {requests.size(), passed_deadline(m_options.address)};
    std::vector<Result<Answer>> answers;
    if (std::unique_ptr<Batch> batch = take_batch()) {
        const SigpipeGuard guard(m_options.tls);
        answers = batch->perform(requests, parallel, deadline);
        give_back_batch(std::move(batch));
    } else {
        answers.assign(requests.size(), no_handle(m_options.address));
    }
    m_permits.give_back(parallel);
    return answers;
}

std::unique_ptr<Batch> HttpClient::take_single()
{
    {
        const std::lock_guard lock(m_mutex);
        if (!m_idle_singles.empty()) {
            // The last one used: the others may grow old and be closed by the server.
            std::unique_ptr<Batch> single = std::move(m_idle_singles.back());
            m_idle_singles.pop_back();
            return single;
        }
    }
    return Batch::make(m_options, m_sockets);
}

std::unique_ptr<Batch> HttpClient::take_batch()
{
    {
        const std::lock_guard lock(m_mutex);
        if (m_idle_batch)
            return std::move(m_idle_batch);
    }
    return Batch::make(m_options, m_sockets);
}

void HttpClient::give_back_single(std::unique_ptr<Batch> single)
{
    const std::lock_guard lock(m_mutex);
    m_idle_singles.push_back(std::move(single));
}

void HttpClient::give_back_batch(std::unique_ptr<Batch> batch)
{
    // One is kept. Another, of a batch that ran at the same time, is closed, and not under the lock.
    const std::lock_guard lock(m_mutex);
    if (!m_idle_batch)
        m_idle_batch = std::move(batch);
}

// Closing a handle of libcurl's would write to the server on a connection that the parent goes on using. So the sockets
// are closed by number and the handles are left behind as they are: some may have been in the hands of threads that are
// not here, in any state. What they hold is some memory and the pipes that libcurl wakes itself with, once a fork.
void HttpClient::after_fork() noexcept
{
    m_sockets.close_all();
    m_permits.after_fork();
    const std::lock_guard lock(m_mutex);
    for (std::unique_ptr<Batch>& single : m_idle_singles)
        (void)single.release();
    m_idle_singles.clear();
    (void)m_idle_batch.release();
    m_process = ::getpid();
}

}  // namespace hearth::tiers::http

#include "tiers/http/batch.hpp"

#include "base/own_thread.hpp"
#include "tiers/http/curl_library.hpp"

#include <unordered_map>

namespace hearth::tiers::http {

std::unique_ptr<Batch> Batch::make(const ClientOptions& options, SocketBook& sockets)
{
    CURLM* const multi = curl_ready() ? curl_multi_init() : nullptr;
    if (!multi)
        return nullptr;
    curl_multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options.max_connections));
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(options.max_connections));
    curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
    return std::unique_ptr<Batch>(new Batch(options, sockets, multi));
}

Batch::~Batch()
{
    curl_multi_cleanup(m_multi);
}

std::vector<Result<Answer>> Batch::perform(std::span<const Request> requests, std::size_t parallel, SteadyTime deadline)
{
    const Error not_begun = passed_deadline(m_options.address);
    std::vector<Result<Answer>> answers(requests.size(), not_begun);
    struct UnderWay {
        std::unique_ptr<Transfer> transfer;
        std::size_t request;
    };
    std::unordered_map<CURL*, UnderWay> under_way;
    std::size_t next = 0;
    while (true) {
        while (next < requests.size() && under_way.size() < parallel && std::chrono::steady_clock::now() < deadline) {
            std::unique_ptr<Transfer> transfer = Transfer::make(m_options, m_sockets);
            if (!transfer)
                break;
            transfer->prepare(requests[next], deadline);
            CURL* const handle = transfer->handle();
            if (curl_multi_add_handle(m_multi, handle) != CURLM_OK)
                break;
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
            state = curl_multi_perform(m_multi, &running);
        }
        int waiting = 0;
        bool one_ended = false;
        while (const CURLMsg* message = curl_multi_info_read(m_multi, &waiting)) {
            if (message->msg != CURLMSG_DONE)
                continue;
            CURL* const handle = message->easy_handle;
            const CURLcode code = message->data.result;
            UnderWay ended = std::move(under_way.extract(handle).mapped());
            curl_multi_remove_handle(m_multi, handle);
            answers[ended.request] = ended.transfer->finish(code);
            one_ended = true;
        }
        // Every transfer has the deadline as its own limit, and wakes us for it.
        if (state == CURLM_OK && !one_ended)
            state = curl_multi_poll(m_multi, nullptr, 0, 1000, nullptr);
        if (state != CURLM_OK)
            break;
    }
    // Only where libcurl itself failed.
    for (auto& [handle, left] : under_way) {
        curl_multi_remove_handle(m_multi, handle);
        answers[left.request] = left.transfer->finish(CURLE_OUT_OF_MEMORY);
    }
    return answers;
}

}  // namespace hearth::tiers::http

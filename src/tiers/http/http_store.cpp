#include "tiers/http/http_store.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "tiers/http/http_errors.hpp"
#include "tiers/http/http_leases.hpp"

#include <fmt/format.h>
#include <mutex>

namespace hearth::tiers::http {

HttpStore::HttpStore(Parts parts)
    : m_client(std::move(parts.client)), m_dialect(std::move(parts.dialect)),
      m_max_object_bytes(parts.max_object_bytes), m_clock(*parts.clock)
{
}

Result<Request> HttpStore::request(Method method, std::string_view name, ByteView body)
{
    if (!remotes::is_name(name))
        return error(Code::invalid_argument,
                     "\"{}\" is no name for an object: 1 to 128 letters, digits, '-', '_' and '.', not beginning "
                     "with '.'.",
                     base::printable(name));
    if (body.size() > m_max_object_bytes)
        return error(Code::too_large,
                     "An object of {} bytes is larger than what is sent to {} ({}). Raise max_entry_bytes.",
                     body.size(), m_dialect->place(), m_max_object_bytes);
    Result<Request> request = m_dialect->request(method, name, body);
    if (request.ok())
        request->max_bytes = m_max_object_bytes;
    return request;
}

void HttpStore::note(const Answer& answer)
{
    if (answer.status == 401 || answer.status == 403)
        m_dialect->forget_credentials();
    if (answer.server.empty() || m_server_known.load(std::memory_order_acquire))
        return;
    const std::lock_guard lock(m_mutex);
    if (m_server_known.load(std::memory_order_relaxed))
        return;
    m_server = base::printable(answer.server);
    m_server_known.store(true, std::memory_order_release);
}

std::string HttpStore::description()
{
    if (!m_server_known.load(std::memory_order_acquire))
        return m_dialect->place();
    return fmt::format("{} at {}", m_server, m_client.options().address);
}

Error HttpStore::refusal(const Answer& answer, Method method) const
{
    if (std::optional<Error> ours = certificate_refusal(answer, method, m_client.options()))
        return *std::move(ours);
    return m_dialect->refusal(answer, method);
}

Result<std::optional<Bytes>> HttpStore::body_of(std::string_view name, Result<Answer>& answer)
{
    HEARTH_TRY(answer);
    note(*answer);
    if (m_dialect->says_absent(*answer))
        return std::optional<Bytes>();
    if (answer->status != 200)
        return refusal(*answer, Method::get);
    if (is_lease_name(name))
        if (std::optional<LeaseObject> lease = decode_lease(answer->body))
            return m_clock.now() < lease->expires ? std::optional(std::move(lease->content)) : std::nullopt;
    return std::optional(std::move(answer->body));
}

Status HttpStore::stored(const Result<Answer>& answer)
{
    HEARTH_TRY(answer);
    note(*answer);
    return answer->ok() ? Status() : refusal(*answer, Method::put);
}

Result<bool> HttpStore::remove(std::string_view name, SteadyTime deadline)
{
    if (!m_dialect->tells_removed()) {
        const std::string asked_for(name);
        if (Result<bool> there = has_many({&asked_for, 1}, deadline).front(); !there.ok() || !*there)
            return there;
    }
    HEARTH_TRY_SET(const Request asked, request(Method::remove, name, {}));
    HEARTH_TRY_SET(const Answer answer, m_client.perform(asked, deadline));
    note(answer);
    if (answer.ok())
        return true;
    if (m_dialect->says_absent(answer))
        return false;
    return refusal(answer, Method::remove);
}

void HttpStore::perform_many(std::vector<Result<Request>>& requests, SteadyTime deadline,
                             const std::function<void(std::size_t, Result<Answer>&)>& use)
{
    std::vector<Request> sent;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i].ok()) {
            sent.push_back(*std::move(requests[i]));
            places.push_back(i);
        } else {
            Result<Answer> none = requests[i].error();
            use(i, none);
        }
    }
    std::vector<Result<Answer>> answers = m_client.perform_many(sent, deadline);
    for (std::size_t i = 0; i < answers.size(); ++i)
        use(places[i], answers[i]);
}

std::vector<Result<std::optional<Bytes>>> HttpStore::get_many(std::span<const std::string> names, SteadyTime deadline)
{
    std::vector<Result<Request>> requests;
    for (const std::string& name : names)
        requests.push_back(request(Method::get, name, {}));
    std::vector<Result<std::optional<Bytes>>> got(names.size(), std::optional<Bytes>());
    perform_many(requests, deadline,
                 [&](std::size_t i, Result<Answer>& answer) { got[i] = body_of(names[i], answer); });
    return got;
}

std::vector<Result<bool>> HttpStore::has_many(std::span<const std::string> names, SteadyTime deadline)
{
    std::vector<Result<Request>> requests;
    for (const std::string& name : names)
        requests.push_back(request(Method::head, name, {}));
    std::vector<Result<bool>> has(names.size(), false);
    perform_many(requests, deadline, [&](std::size_t i, const Result<Answer>& answer) {
        if (!answer.ok()) {
            has[i] = answer.error();
            return;
        }
        note(*answer);
        if (answer->ok())
            has[i] = true;
        else if (!m_dialect->says_absent(*answer))
            has[i] = refusal(*answer, Method::head);
    });
    return has;
}

std::vector<Status> HttpStore::put_many(std::span<const remotes::Object> objects, SteadyTime deadline)
{
    std::vector<Result<Request>> requests;
    for (const remotes::Object& object : objects)
        requests.push_back(request(Method::put, object.name, object.bytes));
    std::vector<Status> put(objects.size());
    perform_many(requests, deadline, [&](std::size_t i, const Result<Answer>& answer) { put[i] = stored(answer); });
    return put;
}

Status HttpStore::list(const Visit& visit, SteadyTime deadline)
{
    return m_dialect->list(m_client, visit, deadline);
}

}  // namespace hearth::tiers::http

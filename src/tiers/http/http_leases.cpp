#include "base/error.hpp"
#include "tiers/http/http_store.hpp"
#include "tiers/http/lease_object.hpp"

#include <fmt/format.h>
#include <random>

// Leases on servers that forget nothing and know one condition: "If-None-Match: *", only where nothing is there.
//
// A lease carries its own end (lease_object.hpp); one that has passed is removed by whoever wants it next. Between
// looking at a lease and removing or rewriting it another may have changed it: two may then hold it, or the one who
// took it may lose it. That is rare and harmless: a lease only saves work, and two who make the same entry make the
// same.

namespace hearth::tiers::http {

namespace {

// 409: S3 says so where two such requests met.
bool says_taken(const Answer& answer)
{
    return answer.status == 412 || answer.status == 409;
}

std::string throw_away_name()
{
    std::random_device random;
    return fmt::format("hearth-probe-{:08x}{:08x}{:08x}.lease", random(), random(), random());
}

Error no_condition(const std::string& place)
{
    return error(Code::other_version,
                 "{} does not honour \"If-None-Match: *\" on PUT, so it cannot hold leases. Set lease=0, or use "
                 "a server that does.",
                 place);
}

}  // namespace

Result<bool> HttpStore::put_where_absent(std::string_view name, ByteView bytes, SteadyTime deadline)
{
    Result<Request> asked = request(Method::put, name, bytes);
    HEARTH_TRY(asked);
    asked->headers.emplace_back("If-None-Match: *");
    const Result<Answer> answer = m_client.perform(*asked, deadline);
    HEARTH_TRY(answer);
    note(*answer);
    if (answer->ok())
        return true;
    if (says_taken(*answer))
        return false;
    if (answer->status == 501) {
        m_conditional.store(Conditional::ignored, std::memory_order_relaxed);
        return no_condition(description());
    }
    return refusal(*answer, Method::put);
}

// Many servers take the header and overwrite all the same, and a lease that two hold at once is none. So the first time
// it is tried out, on a name that is nobody's.
Status HttpStore::probe_conditional(SteadyTime deadline)
{
    const std::string name = throw_away_name();
    const std::string content = encode_lease(as_bytes("probe"), m_clock.now());
    const Result<bool> first = put_where_absent(name, as_bytes(content), deadline);
    HEARTH_TRY(first);
    const Result<bool> second = put_where_absent(name, as_bytes(content), deadline);
    const Result<bool> removed = remove(name, deadline);
    HEARTH_TRY(second);
    HEARTH_TRY(removed);
    const bool honoured = *first && !*second;
    m_conditional.store(honoured ? Conditional::honoured : Conditional::ignored, std::memory_order_relaxed);
    return {};
}

Result<std::optional<Bytes>> HttpStore::raw(std::string_view name, SteadyTime deadline)
{
    const Result<Request> asked = request(Method::get, name, {});
    HEARTH_TRY(asked);
    Result<Answer> answer = m_client.perform(*asked, deadline);
    return body_of({}, answer);
}

Result<bool> HttpStore::put_if_absent(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                                      SteadyTime deadline)
{
    if (!is_lease_name(name))
        return error(Code::invalid_argument, "\"{}\" is no name for a lease: it should end in .lease.",
                     printable(name));
    if (m_conditional.load(std::memory_order_relaxed) == Conditional::unknown)
        HEARTH_TRY(probe_conditional(deadline));
    if (m_conditional.load(std::memory_order_relaxed) == Conditional::ignored)
        return no_condition(description());
    const auto put = [&] {
        return put_where_absent(name, as_bytes(encode_lease(bytes, m_clock.now() + lifetime)), deadline);
    };
    Result<bool> taken = put();
    if (!taken.ok() || *taken)
        return taken;
    const Result<std::optional<Bytes>> held = raw(name, deadline);
    HEARTH_TRY(held);
    if (held->has_value()) {
        const std::optional<LeaseObject> lease = decode_lease(**held);
        if (!lease || m_clock.now() < lease->expires)
            return false;
        if (const Result<bool> removed = remove(name, deadline); !removed.ok())
            return removed.error();
    }
    return put();
}

Result<bool> HttpStore::holds(std::string_view name, ByteView bytes, SteadyTime deadline)
{
    const Result<std::optional<Bytes>> held = get(name, deadline);
    HEARTH_TRY(held);
    return held->has_value() && (*held)->text() == as_text(bytes);
}

Result<bool> HttpStore::renew(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                              SteadyTime deadline)
{
    Result<bool> ours = holds(name, bytes, deadline);
    if (!ours.ok() || !*ours)
        return ours;
    const Status put_again = put(name, as_bytes(encode_lease(bytes, m_clock.now() + lifetime)), deadline);
    HEARTH_TRY(put_again);
    return true;
}

Result<bool> HttpStore::remove_if(std::string_view name, ByteView bytes, SteadyTime deadline)
{
    Result<bool> ours = holds(name, bytes, deadline);
    if (!ours.ok() || !*ours)
        return ours;
    return remove(name, deadline);
}

}  // namespace hearth::tiers::http

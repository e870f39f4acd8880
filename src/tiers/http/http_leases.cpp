#include "tiers/http/http_leases.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "tiers/http/http_store.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <random>

namespace hearth::tiers::http {

namespace {

constexpr std::string_view k_magic = "hearth-lease 1 ";
constexpr std::size_t k_max_digits = 19;
// The year 2262: WallTime counts nanoseconds.
constexpr std::int64_t k_last_millisecond = INT64_MAX / 1'000'000;

// 409: S3's answer if two such requests met.
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
                 "{} does not honour \"If-None-Match: *\" on PUT, so it cannot hold leases. Set lease=0, or use a "
                 "server that does.",
                 place);
}

}  // namespace

bool is_lease_name(std::string_view name)
{
    return name.ends_with(".lease");
}

std::string encode_lease(ByteView content, WallTime expires)
{
    const auto since_1970 = std::chrono::duration_cast<std::chrono::milliseconds>(expires.time_since_epoch());
    std::string object = fmt::format("{}{}\n", k_magic, std::max<std::int64_t>(since_1970.count(), 0));
    object += as_text(content);
    return object;
}

std::optional<LeaseObject> decode_lease(const Bytes& object)
{
    const std::string_view text = object.text();
    if (!text.starts_with(k_magic))
        return std::nullopt;
    const std::string_view rest = text.substr(k_magic.size());
    const std::size_t digits = rest.substr(0, k_max_digits + 1).find('\n');
    const auto milliseconds =
        digits == std::string_view::npos ? std::nullopt : base::parse_number<std::int64_t>(rest.substr(0, digits));
    if (!milliseconds || rest.front() == '-')
        return std::nullopt;
    const std::size_t header = k_magic.size() + digits + 1;
    return LeaseObject{object.slice(header, object.size() - header),
                       WallTime(std::chrono::milliseconds(std::min(*milliseconds, k_last_millisecond)))};
}

Result<bool> HttpStore::put_where_absent(std::string_view name, ByteView bytes, SteadyTime deadline)
{
    HEARTH_TRY_SET(Request asked, request(Method::put, name, bytes));
    asked.headers.emplace_back("If-None-Match: *");
    HEARTH_TRY_SET(const Answer answer, m_client.perform(asked, deadline));
    note(answer);
    if (answer.ok())
        return true;
    if (says_taken(answer))
        return false;
    if (answer.status == 501) {
        m_conditional.store(Conditional::ignored, std::memory_order_relaxed);
        return no_condition(description());
    }
    return refusal(answer, Method::put);
}

// Many servers accept the header and overwrite anyway, and a lease that two can hold at once is useless. So it is tried
// out once, on a name that nobody uses.
Status HttpStore::probe_conditional(SteadyTime deadline)
{
    const std::string name = throw_away_name();
    const std::string content = encode_lease(as_bytes("probe"), m_clock.now());
    HEARTH_TRY_SET(const bool first, put_where_absent(name, as_bytes(content), deadline));
    const Result<bool> second = put_where_absent(name, as_bytes(content), deadline);
    HEARTH_TRY(remove(name, deadline));
    HEARTH_TRY(second);
    const bool honoured = first && !*second;
    m_conditional.store(honoured ? Conditional::honoured : Conditional::ignored, std::memory_order_relaxed);
    return {};
}

Result<std::optional<Bytes>> HttpStore::raw(std::string_view name, SteadyTime deadline)
{
    HEARTH_TRY_SET(const Request asked, request(Method::get, name, {}));
    Result<Answer> answer = m_client.perform(asked, deadline);
    return body_of({}, answer);
}

Result<bool> HttpStore::put_if_absent(std::string_view name, ByteView bytes, std::chrono::milliseconds lifetime,
                                      SteadyTime deadline)
{
    if (!is_lease_name(name))
        return error(Code::invalid_argument, "\"{}\" is no name for a lease: it should end in .lease.",
                     base::printable(name));
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
    HEARTH_TRY_SET(const std::optional<Bytes> held, raw(name, deadline));
    if (held.has_value()) {
        const std::optional<LeaseObject> lease = decode_lease(*held);
        if (!lease || m_clock.now() < lease->expires)
            return false;
        HEARTH_TRY(remove(name, deadline));
    }
    return put();
}

Result<bool> HttpStore::holds(std::string_view name, ByteView bytes, SteadyTime deadline)
{
    HEARTH_TRY_SET(const std::optional<Bytes> held, get(name, deadline));
    return held.has_value() && held->text() == as_text(bytes);
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

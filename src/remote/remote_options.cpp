#include "remote/remote_options.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "hearth/units.hpp"
#include "remote/server_kinds.hpp"
#include "remote/tls_options.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>
#include <vector>

namespace hearth::remotes {

namespace {

// One row for each option of the tier: this is the only place that names them.
struct TierOption {
    std::string_view name;
    std::string_view takes;
    bool (*read)(const std::string& text, RemoteOptions& options);  // false: it cannot be used
};

template <std::chrono::milliseconds RemoteOptions::*member>
bool read_time(const std::string& text, RemoteOptions& options)
{
    const auto value = parse_duration(text);
    if (value)
        options.*member = std::chrono::duration_cast<std::chrono::milliseconds>(*value);
    return value && value->count() > 0;
}

template <auto member, auto if_true, auto if_false>
bool read_bool(const std::string& text, RemoteOptions& options)
{
    const std::optional<bool> value = base::parse_bool(text);
    options.*member = value.value_or(false) ? if_true : if_false;
    return value.has_value();
}

bool read_name(const std::string& text, RemoteOptions& options)
{
    options.name = text;
    return true;
}

bool read_queue(const std::string& text, RemoteOptions& options)
{
    const auto value = base::parse_size_setting(text);
    options.queue_bytes = value.value_or(0);
    return value.has_value();
}

bool read_trust(const std::string& text, RemoteOptions& options)
{
    options.trust.signatures = text == "signed" ? Signatures::demanded : Signatures::not_asked;
    return text == "signed" || text == "any";
}

constexpr std::string_view k_time = "a duration such as 50ms or 2s";

constexpr std::array k_tier_options = {
    TierOption{"name", "a name", read_name},
    TierOption{"read-only", "0 or 1", read_bool<&RemoteOptions::access, Access::read_only, Access::read_write>},
    TierOption{"timeout", k_time, read_time<&RemoteOptions::timeout>},
    TierOption{"connect-timeout", k_time, read_time<&RemoteOptions::connect_timeout>},
    TierOption{"hedge", k_time, read_time<&RemoteOptions::hedge_after>},
    TierOption{"trust", "signed or any", read_trust},
    TierOption{"lease", "0 or 1", read_bool<&RemoteOptions::lease, FleetLease::on, FleetLease::off>},
    TierOption{"queue", "a size with a unit, such as 64M", read_queue},
};

}  // namespace

Result<Resolved> resolve_options(RemoteOptions options)
{
    HEARTH_TRY_SET(Url parsed, parse_url(options.url));
    Resolved all{std::move(options), std::move(parsed)};
    for (const TierOption& option : k_tier_options) {
        const std::optional<std::string> text = all.url.option(option.name);
        if (text && !option.read(*text, all.options))
            return error(Code::invalid_argument, "The option {}={} of a remote cannot be used: it takes {}.",
                         option.name, *text, option.takes);
        all.url.options.erase(std::string(option.name));
    }
    const ServerKind* kind = kind_of_server(all.url.scheme);
    if (all.options.name.empty())
        all.options.name = kind ? std::string(kind->name) : all.url.scheme;
    return all;
}

Status check_options(const Url& url, std::initializer_list<std::string_view> of_the_store)
{
    std::vector<std::string_view> theirs(of_the_store);
    theirs.insert(theirs.end(), k_names_of_tls_options.begin(), k_names_of_tls_options.end());
    std::vector<std::string_view> ours;
    ours.reserve(std::size(k_tier_options));
    for (const TierOption& option : k_tier_options)
        ours.push_back(option.name);
    std::vector<std::string_view> all = theirs;
    all.insert(all.end(), ours.begin(), ours.end());
    for (const auto& [name, value] : url.options) {
        if (std::find(all.begin(), all.end(), name) != all.end())
            continue;
        const std::string_view meant = base::closest(name, all);
        return unusable(url,
                        fmt::format("it has an option \"{}\".{} Those of {} are {}, beside {}.", base::printable(name),
                                    meant.empty() ? std::string() : fmt::format(" Did you mean {}?", meant), url.scheme,
                                    base::listed(theirs), base::listed(ours)));
    }
    return {};
}

}  // namespace hearth::remotes

#include "remote/remote_options.hpp"

#include "base/error.hpp"
#include "hearth/units.hpp"
#include "remote/store_library.hpp"
#include "remote/store_tier.hpp"

#include <fmt/format.h>

namespace hearth::remotes {

namespace {

std::string usual_name(const std::string& scheme)
{
    if (scheme.starts_with("redis"))
        return "redis";
    return scheme.starts_with("http") ? "http" : scheme;
}

std::optional<bool> flag(const std::string& text)
{
    if (text == "1" || text == "on" || text == "yes" || text == "true")
        return true;
    if (text == "0" || text == "off" || text == "no" || text == "false")
        return false;
    return std::nullopt;
}

Error unusable(const std::string& name, const std::string& value, const char* takes)
{
    return error(Code::invalid_argument, "The option {}={} of a remote cannot be used: it takes {}.", name, value,
                 takes);
}

}  // namespace

Result<Resolved> resolve_options(RemoteOptions options)
{
    Result<Url> parsed = parse_url(options.url);
    HEARTH_TRY(parsed);
    Resolved all{std::move(options), *std::move(parsed)};
    const auto taken = [&](const char* name) {
        std::optional<std::string> value = all.url.option(name);
        all.url.options.erase(name);
        return value;
    };
    if (const auto name = taken("name"))
        all.options.name = *name;
    if (all.options.name.empty())
        all.options.name = usual_name(all.url.scheme);
    if (const auto text = taken("read-only")) {
        const std::optional<bool> value = flag(*text);
        if (!value)
            return unusable("read-only", *text, "0 or 1");
        all.options.access = *value ? Access::read_only : Access::read_write;
    }
    if (const auto text = taken("lease")) {
        const std::optional<bool> value = flag(*text);
        if (!value)
            return unusable("lease", *text, "0 or 1");
        all.options.lease = *value ? FleetLease::on : FleetLease::off;
    }
    struct Time {
        const char* name;
        std::chrono::milliseconds RemoteOptions::*member;
    };
    for (const Time& time :
         {Time{"timeout", &RemoteOptions::timeout}, Time{"connect-timeout", &RemoteOptions::connect_timeout},
          Time{"hedge", &RemoteOptions::hedge_after}})
        if (const auto text = taken(time.name)) {
            const auto value = parse_duration(*text);
            if (!value || value->count() <= 0)
                return unusable(time.name, *text, "a duration such as 50ms or 2s");
            all.options.*time.member = std::chrono::duration_cast<std::chrono::milliseconds>(*value);
        }
    if (const auto text = taken("queue")) {
        const auto value = parse_size(*text);
        if (!value)
            return unusable("queue", *text, "a size such as 64M");
        all.options.queue_bytes = *value;
    }
    if (const auto text = taken("trust")) {
        if (*text != "signed" && *text != "any")
            return unusable("trust", *text, "signed or any");
        all.options.trust.signatures = *text == "signed" ? Signatures::demanded : Signatures::not_asked;
    }
    return all;
}

}  // namespace hearth::remotes

namespace hearth {

TierSpec remote(RemoteOptions options)
{
    const Result<remotes::Resolved> resolved = remotes::resolve_options(options);
    // A name to be known by, also where the rest cannot be used: opening it says why.
    const std::string name = resolved ? resolved->options.name : options.name.empty() ? "remote" : options.name;
    return {name, [resolved](const TierContext& context) -> Result<std::unique_ptr<Tier>> {
                HEARTH_TRY(resolved);
                const Trust& trust = resolved->options.trust;
                if (trust.signatures == Signatures::demanded && trust.trusted.empty())
                    return error(Code::invalid_argument,
                                 "{} is to hold signed entries only, and no key is trusted, so that none "
                                 "could ever be used. Set HEARTH_TRUSTED_KEYS.",
                                 resolved->url.shown());
                return {std::make_unique<remotes::StoreTier>(resolved->options, resolved->url, context,
                                                             remotes::open_store)};
            }};
}

TierSpec remote(std::string url)
{
    return remote(RemoteOptions{.url = std::move(url)});
}

}  // namespace hearth

#include "tiers/http/aws_credentials.hpp"

#include "base/error.hpp"
#include "base/files.hpp"
#include "base/text.hpp"

#include <cstdlib>
#include <fmt/format.h>

namespace hearth::tiers::http {

namespace {

std::optional<std::string> variable(const AwsSources& sources, const char* name)
{
    std::optional<std::string> value = sources.variable(name);
    return value && value->empty() ? std::nullopt : value;
}

std::string profile(const AwsSources& sources)
{
    return variable(sources, "AWS_PROFILE").value_or("default");
}

std::string path_of(const AwsSources& sources, const char* name, const char* below_home)
{
    if (const auto path = variable(sources, name))
        return *path;
    return variable(sources, "HOME").value_or("") + below_home;
}

}  // namespace

AwsSources AwsSources::of_this_process()
{
    return {[](const char* name) -> std::optional<std::string> {
                const char* value = std::getenv(name);
                return value ? std::optional<std::string>(value) : std::nullopt;
            },
            base::read_small_file};
}

std::optional<std::string> ini_value(std::string_view text, std::string_view section, std::string_view key)
{
    std::optional<std::string> found;
    bool inside = false;
    while (!text.empty()) {
        const std::string_view whole = base::take_until('\n', text);
        const std::string_view line = base::trimmed(whole);
        const bool indented = whole.starts_with(' ') || whole.starts_with('\t');
        if (line.empty() || line.front() == '#' || line.front() == ';')
            continue;
        if (line.front() == '[') {
            inside = line.back() == ']' && base::trimmed(line.substr(1, line.size() - 2)) == section;
            continue;
        }
        const std::size_t equals = line.find('=');
        if (!inside || indented || equals == std::string_view::npos || base::trimmed(line.substr(0, equals)) != key)
            continue;
        const std::string_view value = base::trimmed(line.substr(equals + 1));
        found = value.empty() ? std::nullopt : std::optional<std::string>(value);
    }
    return found;
}

Result<AwsCredentials> find_credentials(const AwsSources& sources)
{
    const auto key = variable(sources, "AWS_ACCESS_KEY_ID");
    const auto secret = variable(sources, "AWS_SECRET_ACCESS_KEY");
    if (key && secret)
        return AwsCredentials{*key, *secret, variable(sources, "AWS_SESSION_TOKEN").value_or("")};
    const std::string path = path_of(sources, "AWS_SHARED_CREDENTIALS_FILE", "/.aws/credentials");
    const std::string section = profile(sources);
    const std::optional<std::string> text = sources.file(path);
    if (text) {
        const auto kept_key = ini_value(*text, section, "aws_access_key_id");
        const auto kept_secret = ini_value(*text, section, "aws_secret_access_key");
        if (kept_key && kept_secret)
            return AwsCredentials{*kept_key, *kept_secret, ini_value(*text, section, "aws_session_token").value_or("")};
    }
    return error(Code::denied,
                 "There are no keys for S3: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set, and {} "
                 "{}. Set the variables, or write the file.",
                 path, text ? fmt::format("has none in its section [{}]", section) : "cannot be read");
}

std::optional<std::string> find_region(const AwsSources& sources)
{
    for (const char* name : {"AWS_REGION", "AWS_DEFAULT_REGION"})
        if (auto region = variable(sources, name))
            return region;
    const std::optional<std::string> text = sources.file(path_of(sources, "AWS_CONFIG_FILE", "/.aws/config"));
    if (!text)
        return std::nullopt;
    const std::string section = profile(sources);
    return ini_value(*text, section == "default" ? section : "profile " + section, "region");
}

std::optional<std::string> find_endpoint(const AwsSources& sources)
{
    for (const char* name : {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"})
        if (auto endpoint = variable(sources, name))
            return endpoint;
    return std::nullopt;
}

}  // namespace hearth::tiers::http

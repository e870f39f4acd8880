// The input is ~/.aws/credentials, and ~/.aws/config.

#include "fuzz/fuzz.hpp"
#include "tiers/http/aws_credentials.hpp"

#include <string>

namespace {

using namespace hearth;
using namespace hearth::tiers::http;

bool is_value(std::string_view text, std::string_view of)
{
    constexpr std::string_view k_blanks = " \t\r\n";
    return !text.empty() && k_blanks.find(text.front()) == std::string_view::npos &&
           k_blanks.find(text.back()) == std::string_view::npos && text.find('\n') == std::string_view::npos &&
           of.find(text) != std::string_view::npos;
}

void check_value(const std::string& file, std::string_view key)
{
    const std::optional<std::string> value = ini_value(file, "default", key);
    fuzz::require(!value || is_value(*value, file), "a value is what stands in a line, without blanks around it");
    if (value)
        fuzz::require(ini_value("[default]\n" + std::string(key) + "=" + *value, "default", key) == value,
                      "a value that is written and read again is the same");
    const std::string more = "\n[ default ]\r\n" + std::string(key) + " = later # not a comment\r\n";
    fuzz::require(ini_value(file + more, "default", key) == "later # not a comment", "the last one is it");
    fuzz::require(ini_value(file + "\n[other]\n" + std::string(key) + " = x\n", "default", key) == value,
                  "another section's is not");
}

AwsSources sources(const std::string& file, std::string profile)
{
    return {[profile = std::move(profile)](const char* name) -> std::optional<std::string> {
                return std::string_view(name) == "AWS_PROFILE" ? std::optional(profile) : std::nullopt;
            },
            [&file](const std::string&) { return std::optional(file); }};
}

void check_profile(const std::string& file, const std::string& profile)
{
    const AwsSources from = sources(file, profile);
    const Result<AwsCredentials> keys = find_credentials(from);
    if (keys.ok()) {
        fuzz::require(is_value(keys->access_key, file) && is_value(keys->secret_key, file), "keys are two values");
        fuzz::require(keys->session_token.empty() || is_value(keys->session_token, file), "a token is one, or none");
    } else {
        fuzz::require(keys.error().code == Code::denied && keys.error().message.ends_with('.'),
                      "where there are none, a sentence says so");
        const std::optional<std::string> secret = ini_value(file, profile, "aws_secret_access_key");
        // One of some length would hardly be in a sentence by chance.
        fuzz::require(!secret || secret->size() < 8 || keys.error().message.find(*secret) == std::string::npos ||
                          find_credentials(sources("", profile)).error().message.find(*secret) != std::string::npos,
                      "without the secret");
    }
    const std::optional<std::string> region = find_region(from);
    fuzz::require(!region || is_value(*region, file), "a region is a value");
}

void try_input(std::string_view input)
{
    const std::string file(input);
    check_value(file, "aws_access_key_id");
    check_value(file, "region");
    check_profile(file, "default");
    check_profile(file, "work");
}

const fuzz::Added k_added({"aws_files", 400'000, try_input});

}  // namespace

#pragma once

#include "hearth/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

// Where other programs look for S3's keys, region and endpoint, in their order: the environment, then the files
// ~/.aws/credentials and ~/.aws/config. Both are INI:
//
//   [default]                              in config other profiles are [profile NAME]
//   aws_access_key_id = KEY                # and ; begin a comment, an indented line belongs to the one above it
//   aws_secret_access_key = SECRET
//   aws_session_token = TOKEN              only of temporary keys
//   region = us-east-1                     in config

namespace hearth::tiers::http {

// Where to look; tests hand in their own.
struct AwsSources {
    std::function<std::optional<std::string>(const char* name)> variable;
    std::function<std::optional<std::string>(const std::string& path)> file;

    static AwsSources of_this_process();
};

struct AwsCredentials {
    std::string access_key;
    std::string secret_key;
    std::string session_token;  // empty: none
};

// denied: there are none; the sentence says where it looked.
Result<AwsCredentials> find_credentials(const AwsSources& sources);
std::optional<std::string> find_region(const AwsSources& sources);
std::optional<std::string> find_endpoint(const AwsSources& sources);

// The last such key of a section; none when it is not there or empty.
std::optional<std::string> ini_value(std::string_view text, std::string_view section, std::string_view key);

}  // namespace hearth::tiers::http

#pragma once

#include "hearth/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The parts of S3's XML answers that we need. A stranger may have sent these bytes. So reading stops at a DTD, the only
// place where entities and other documents could come from, and at a nesting deeper than any real answer.

namespace hearth::tiers::http {

struct ListedObject {
    std::string key;
    std::uint64_t bytes = 0;
};

// An answer to ListObjectsV2.
struct ListingPage {
    std::vector<ListedObject> objects;
    bool truncated = false;  // there is more, from this token on
    std::string next_token;
};

// corrupt: it is not such an answer, or ends early.
Result<ListingPage> parse_listing(std::string_view xml);

// The name of an object: its key without the prefix. None if the object is not ours, because it is in a deeper folder
// or has a name that we never use (remotes::is_name()).
std::optional<std::string_view> listed_name(std::string_view key, std::string_view prefix);

// "NoSuchBucket", from an error answer; empty if it has none.
std::string error_code_of(std::string_view xml);

}  // namespace hearth::tiers::http

#pragma once

#include "hearth/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What S3 says in XML, as far as we need it. Bytes that a stranger may have sent: a document with a DTD, the only place
// that entities and other documents could come from, is not read on, nor is one that is nested deeper than any answer.

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

// corrupt: it is no such answer, or ends early.
Result<ListingPage> parse_listing(std::string_view xml);

// What an object of ours is called, by its key: the key without the prefix. None: it is deeper, or called as we call
// nothing (remotes::is_name()), so it is somebody else's.
std::optional<std::string_view> listed_name(std::string_view key, std::string_view prefix);

// "NoSuchBucket", of an answer that is an error; empty when it says none.
std::string error_code_of(std::string_view xml);

}  // namespace hearth::tiers::http

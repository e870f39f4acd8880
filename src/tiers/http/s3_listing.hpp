#pragma once

#include "hearth/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What S3 says in XML, as far as we need it. No XML library: four elements of one answer are read, whose names do not
// occur elsewhere in it, and a general parser would bring entities, external documents and its own bugs to bytes that a
// stranger may have sent. What is read here is bounded by its length, in one pass, and nothing in it is followed.

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
// nothing (dialect.hpp's is_name()), so it is somebody else's.
std::optional<std::string_view> listed_name(std::string_view key, std::string_view prefix);

// "NoSuchBucket", of an answer that is an error; empty when it says none.
std::string error_code_of(std::string_view xml);

// With &amp; and its like, and &#10; and &#xA;, replaced; what is no such reference stays as it is.
std::string decoded_entities(std::string_view text);

}  // namespace hearth::tiers::http

#pragma once

#include "hearth/bytes.hpp"
#include "hearth/result.hpp"
#include "remote/remote_store.hpp"
#include "support/sample_entries.hpp"

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <string_view>

// Words that tests of remote stores say often.

namespace hearth::test {

inline remotes::SteadyTime in(std::chrono::milliseconds time)
{
    return std::chrono::steady_clock::now() + time;
}

inline remotes::SteadyTime soon()
{
    return in(std::chrono::seconds(20));
}

// Of an address that can be parsed.
inline remotes::StoreOptions options_for(const std::string& url)
{
    remotes::StoreOptions options;
    options.url = remotes::parse_url(url).value();
    options.connect_timeout = std::chrono::seconds(5);
    options.max_object_bytes = 16U << 20U;
    return options;
}

inline Bytes bytes_for(std::uint64_t number, std::size_t size)
{
    return sample_bytes(numbered_key(number), size);
}

inline std::string name_for(std::uint64_t number)
{
    return numbered_key(number).hex();
}

// All that a store lists.
inline std::set<std::string> names_in(remotes::RemoteStore& store)
{
    std::set<std::string> names;
    const auto visit = [&](std::string_view name, std::uint64_t) {
        if (!name.empty())  // between two pages
            names.emplace(name);
        return true;
    };
    const Status listed = store.list(visit, soon());
    EXPECT_TRUE(listed.ok()) << listed.error().message;
    return names;
}

// The code of what should have failed; `ok` says that it did not.
template <class T>
std::string code_of(const Result<T>& result)
{
    if (result.ok())
        return "ok";
    switch (result.error().code) {
    case Code::unavailable:
        return "unavailable";
    case Code::timeout:
        return "timeout";
    case Code::denied:
        return "denied";
    case Code::corrupt:
        return "corrupt";
    case Code::too_large:
        return "too_large";
    case Code::other_version:
        return "other_version";
    case Code::invalid_argument:
        return "invalid_argument";
    case Code::no_space:
        return "no_space";
    default:
        return "another code: " + result.error().message;
    }
}

}  // namespace hearth::test

#pragma once

#include "hearth/bytes.hpp"
#include "hearth/result.hpp"
#include "remote/remote_store.hpp"
#include "support/sample_entries.hpp"

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <map>
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

// What became of it: "ok", or the name of an error's code.
template <class T>
std::string code_of(const Result<T>& result)
{
    static const std::map<Code, std::string> k_names = {
        {Code::unavailable, "unavailable"}, {Code::timeout, "timeout"},
        {Code::denied, "denied"},           {Code::corrupt, "corrupt"},
        {Code::too_large, "too_large"},     {Code::other_version, "other_version"},
        {Code::no_space, "no_space"},       {Code::invalid_argument, "invalid_argument"}};
    if (result.ok())
        return "ok";
    const auto name = k_names.find(result.error().code);
    return name != k_names.end() ? name->second : "another code: " + result.error().message;
}

}  // namespace hearth::test

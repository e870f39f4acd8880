#include "tiers/redis/redis_errors.hpp"

#include "base/error.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace hearth::tiers::redis {

namespace {

std::string_view first_word(std::string_view words)
{
    return words.substr(0, words.find(' '));
}

template <std::size_t n>
bool is_one_of(std::string_view word, const std::array<std::string_view, n>& list)
{
    return std::find(list.begin(), list.end(), word) != list.end();
}

constexpr std::array<std::string_view, 5> k_denied = {"NOAUTH", "WRONGPASS", "NOPERM", "READONLY", "DENIED"};
constexpr std::array<std::string_view, 4> k_not_now = {"LOADING", "MASTERDOWN", "CLUSTERDOWN", "BUSY"};

}  // namespace

Error error_of_reply(std::string_view words, const std::string& address)
{
    const std::string_view word = first_word(words);
    const std::string said = base::printable(words);
    if (is_one_of(word, k_denied))
        return error(Code::denied, "Redis at {} refused: {}. Check the user, the password and what the user may do.",
                     address, said);
    if (word == "OOM")
        return error(
            Code::no_space,
            "Redis at {} has no room: {}. Raise its maxmemory, or let it evict (maxmemory-policy allkeys-lru).",
            address, said);
    if (word == "MOVED" || word == "ASK")
        return error(Code::unavailable,
                     "Redis at {} sent us to another node: {}. For a cluster write redis+cluster://.", address, said);
    if (words.starts_with("ERR unknown command") || words.starts_with("ERR unknown subcommand") ||
        words.starts_with("ERR This instance has cluster support disabled"))
        return error(Code::other_version, "Redis at {} does not know how to do this: {}.", address, said);
    return error(Code::unavailable, "Redis at {} could not serve: {}.", address, said);
}

Error error_of_auth(std::string_view words, const std::string& address)
{
    const std::string_view word = first_word(words);
    if (is_one_of(word, k_not_now))
        return error_of_reply(word, address);
    const bool is_code = !word.empty() && word.size() < 16 &&
                         std::all_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    return error(
        Code::denied,
        "Redis at {} refused the user and password that it was given ({}). Check them in the remote's address.",
        address, is_code ? word : std::string_view("no reason"));
}

Error passed_deadline(const std::string& address)
{
    return error(Code::timeout,
                 "Redis at {} had not answered when the deadline passed. Raise the remote's timeout if it is slow and "
                 "not gone.",
                 address);
}

Error broke_off(const std::string& address, std::string_view why)
{
    return error(Code::unavailable, "Redis at {} broke off: {}.", address, why);
}

Error not_redis(const std::string& address, std::string_view why)
{
    return error(Code::corrupt, "What answered at {} does not speak the protocol of redis: {}. Check the address.",
                 address, why);
}

Error too_large(const std::string& address, std::uint64_t bytes, std::uint64_t limit)
{
    return error(Code::too_large,
                 "An object of {} bytes is larger than the remote at {} may hold ({}). Raise the remote's limit for "
                 "objects.",
                 bytes, address, limit);
}

}  // namespace hearth::tiers::redis

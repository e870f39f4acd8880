#include "base/secrets.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <array>

namespace hearth::base {

namespace {

constexpr std::string_view k_mask = "***";

// No compiler is told a secret in one of these. Of any other variable that cannot be known.
constexpr std::string_view k_harmless =
    " CCC_OVERRIDE_OPTIONS CICC_PATH COLUMNS COMPILER_PATH CPATH CPLUS_INCLUDE_PATH CUDAFE_FLAGS C_INCLUDE_PATH "
    "DEPENDENCIES_OUTPUT GCONV_PATH GLIBC_TUNABLES HOME LANG LANGUAGE LD_AUDIT LD_BIND_NOW LD_DEBUG LD_LIBRARY_PATH "
    "LD_PRELOAD LIBRARY_PATH LOCPATH LPATH NLSPATH NVASM_FLAGS NVDISASM_FLAGS NVLINK_FLAGS NVVMIR_LIBRARY_DIR "
    "NVVM_FLAGS NV_NVVM_VERSION OBJCPLUS_INCLUDE_PATH OBJC_INCLUDE_PATH OCG_FLAGS OMP_NUM_THREADS OUTPUT_CHARSET "
    "PATH POSIXLY_CORRECT PTXAS_FLAGS PWD ROCM_PATH SOURCE_DATE_EPOCH SUNPRO_DEPENDENCIES SYSTEM_INCLUDES TEMP "
    "TEMPDIR TERM TMP TMPDIR TZ ";
constexpr std::array<std::string_view, 5> k_harmless_beginnings{"CUDA_", "GCC_", "LC_", "NVCC_", "NVRTC_"};

constexpr std::array<std::string_view, 5> k_anywhere{"password", "passwd", "passphrase", "secret", "credential"};
// With a small number for a value, counts and indices.
constexpr std::array<std::string_view, 7> k_anywhere_but_numbers{"apikey",     "api_key",     "accesskey", "access_key",
                                                                 "privatekey", "private_key", "accountkey"};
constexpr std::array<std::string_view, 8> k_at_end{"token",         "tokens", "_key", "_auth",
                                                   "authorization", "_pass",  "_pwd", "cookie"};
constexpr std::array<std::string_view, 2> k_whole{"key", "auth"};
// In an address's query, which signs requests with them.
constexpr std::array<std::string_view, 2> k_at_end_in_query{"sig", "signature"};

bool is_part_of_name(char c)
{
    return is_letter_or_digit(c) || c == '_' || c == '-' || c == '.';
}

// Small numbers are counts and indices: -DEND_TOKEN=2.
bool is_small_number(std::string_view value)
{
    return value.size() <= 6 && std::ranges::all_of(value, is_digit);
}

std::string lower_case(std::string_view name)
{
    std::string lower(name);
    for (char& c : lower)
        c = c == '-' || c == '.' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return lower;
}

template <std::size_t k_count>
bool ends_with_one(std::string_view name, const std::array<std::string_view, k_count>& endings)
{
    return std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); });
}

// "--api-key", "-DAPI_KEY", "apiKey". No secret: "--keyword", "-keep", "-DKEY_BITS", "monkey.cu".
bool names_secret(std::string_view name, std::string_view value, bool in_query = false)
{
    if (name.starts_with("-D"))
        name.remove_prefix(2);
    while (name.starts_with('-'))
        name.remove_prefix(1);
    const std::string lower = lower_case(name);
    if (std::ranges::any_of(k_anywhere, [&](std::string_view part) { return lower.find(part) != std::string::npos; }))
        return true;
    if (in_query && ends_with_one(lower, k_at_end_in_query))
        return true;
    const bool may_be = lower.find("token_") != std::string::npos || ends_with_one(lower, k_at_end) ||
                        std::ranges::find(k_whole, lower) != k_whole.end() ||
                        std::ranges::any_of(k_anywhere_but_numbers, [&](std::string_view part) {
                            return lower.find(part) != std::string::npos;
                        });
    return may_be && !is_small_number(value);
}

// "--token". A macro has its value in the same word, or none.
bool takes_next_word(std::string_view name)
{
    return name.starts_with('-') && !name.starts_with("-D") && std::ranges::all_of(name, is_part_of_name);
}

struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;  // the same: there is none
};

// The user and the password of an address whose "//" is at `slashes`. A password may hold '/', '?' and '@' as they are.
Span user_in_address(std::string_view text, std::size_t slashes)
{
    const std::size_t begin = slashes + 2;
    const std::size_t end = std::min(text.find_first_of(" \t\n\"'", begin), text.size());
    const std::string_view address = text.substr(begin, end - begin);
    const std::size_t at = address.rfind('@');
    // The path behind a host and its port may hold '@' too.
    const std::string_view host = address.substr(0, address.find('/'));
    const std::size_t colon = host.find(':');
    const bool is_password = colon != std::string_view::npos && !std::ranges::all_of(host.substr(colon + 1), is_digit);
    return at == std::string_view::npos || (host.size() < at && !is_password) ? Span{} : Span{begin, begin + at};
}

// The value behind a name that ends before `at`, where '=', ':' or a blank is.
Span value_at(std::string_view text, std::size_t at)
{
    std::size_t end = at;
    while (text[at] == '=' && end > 0 && is_blank(text[end - 1]))
        --end;
    // {"token": "..."}, or {\"token\": \"...\"} in a string of C.
    while (text[at] == ':' && end > 0 && std::string_view("\"'\\").find(text[end - 1]) != std::string_view::npos)
        --end;
    // -DTOKEN(x)=...
    if (text[at] == '=' && end > 0 && text[end - 1] == ')')
        end = std::min(text.rfind('(', end), end);
    std::size_t begin = end;
    while (begin > 0 && is_part_of_name(text[begin - 1]))
        --begin;
    const std::string_view name = text.substr(begin, end - begin);
    // Behind a slash is a part of a path.
    if (name.empty() || (begin > 0 && text[begin - 1] == '/'))
        return {};
    const bool in_query = begin > 0 && (text[begin - 1] == '?' || text[begin - 1] == '&');
    Span value{at + 1, text.size()};
    if (text[at] != '=') {
        if (text[at] != ':' && !takes_next_word(name))
            return {};
        while (value.begin < text.size() && is_blank(text[value.begin]))
            ++value.begin;
        if (value.begin < text.size() && (text[value.begin] == ':' || (text[at] != ':' && text[value.begin] == '-')))
            return {};
    }
    // Where a value ends cannot be told: "Authorization: Digest user=..., response=..." Only a query says it.
    if (in_query)
        value.end = std::min(text.find('&', value.begin), text.size());
    return value.begin < value.end && names_secret(name, text.substr(value.begin, value.end - value.begin), in_query)
               ? value
               : Span{};
}

}  // namespace

std::string without_secrets(std::string_view word)
{
    std::string shown;
    std::size_t copied = 0;
    for (std::size_t at = 0; at < word.size(); ++at) {
        if (word[at] != '=' && word[at] != ':' && !is_blank(word[at]))
            continue;
        const Span secret = word.substr(at).starts_with("://") ? user_in_address(word, at + 1) : value_at(word, at);
        if (secret.begin == secret.end)
            continue;
        shown.append(word, copied, secret.begin - copied).append(k_mask);
        copied = secret.end;
        at = secret.end - 1;
    }
    return shown.append(word, copied);
}

std::vector<std::string> without_secrets(std::vector<std::string> words)
{
    for (std::size_t i = 0; i < words.size(); ++i)
        if (i > 0 && takes_next_word(words[i - 1]) && !words[i].starts_with("--") &&
            names_secret(words[i - 1], words[i]))
            words[i] = k_mask;
        else
            words[i] = without_secrets(std::string_view(words[i]));
    return words;
}

bool is_harmless_variable(std::string_view name, std::string_view value)
{
    const bool is_known =
        k_harmless.find(" " + std::string(name) + " ") != std::string_view::npos ||
        std::ranges::any_of(k_harmless_beginnings, [&](std::string_view begin) { return name.starts_with(begin); });
    return is_known && !names_secret(name, value) && without_secrets(value) == value;
}

std::string shown_variable(std::string_view variable)
{
    const std::size_t name = std::min(variable.find('='), variable.size());
    const std::size_t value = std::min(name + 1, variable.size());
    return is_harmless_variable(variable.substr(0, name), variable.substr(value))
               ? std::string(variable)
               : std::string(variable.substr(0, value)).append(k_mask);
}

}  // namespace hearth::base

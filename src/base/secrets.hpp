#pragma once

#include <string>
#include <string_view>
#include <vector>

// Secrets in command lines and variables, found by their names: "token", "password", "secret", "api_key". Whatever is
// kept for people or shown to them goes through here; what decides an answer does not.

namespace hearth::base {

// "***" stands for a secret's value: behind its name ("--token=...", "-DAPI_KEY=...", "Authorization: ..."), before the
// @ of an address, and in an address's query. Cost of a word without '=', ':' and blanks: looking for these.
std::string without_secrets(std::string_view word);
// The same, and for the word that follows an option such as "--password".
std::vector<std::string> without_secrets(std::vector<std::string> words);

// Whether a variable's value may be kept and shown: its name is on a short list, and no secret is in its value.
bool is_harmless_variable(std::string_view name, std::string_view value);
// "NAME=value", with "***" for a value that may not.
std::string shown_variable(std::string_view variable);

}  // namespace hearth::base

#pragma once

#include "carry/captures.hpp"
#include "carry/identity.hpp"
#include "terminal/command_line.hpp"
#include "json/json.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace hearth::cli::carry {

// The parts of 'hearth carry'.
void add_capture(Command& carry);
void add_restore(Command& carry);
void add_diff(Command& carry);
void add_push(Command& carry);
void add_pull(Command& carry);

struct CarryArguments {
    std::vector<std::string> names;
    IdentityOptions identity;
    std::optional<std::uint64_t> max_bytes;
    std::optional<std::uint64_t> max_files;
    std::string bundle;
    std::string sign_with;
    std::string remote;
    bool push = false;
    bool force = false;
    bool newer = false;
    bool json = false;
};

// Adds what all parts take, and runs `run` with it.
CarryArguments& add_common(Command& command, int (*run)(const Globals&, const CarryArguments&));

Bounds bounds_of(const CarryArguments& arguments);
// The places that are named, with what their captures depend on here. Fails with a sentence.
std::vector<Wanted> wanted_by(const CarryArguments& arguments);

// Sentences.
std::string no_capture_of(const Place& place);
std::string is_foreign(const Place& place, const Located& located);

// What the JSON of all parts begins with, and then those of one part.
Json json_of(const Wanted& wanted, const Key& capture, std::initializer_list<Json::Member> members);
Json json_of(const std::vector<Tree::LeftOut>& left_out);

}  // namespace hearth::cli::carry

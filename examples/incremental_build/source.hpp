#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

// The language, eph: a function a line, and operators behind what they work on.
//
//   import part_003
//   scaled x = x 12 *
//   export salt = 7                                        # a constant: importers take it into their own code
//   export value x y = x scaled y part_003.value salt +    # importers see that it has two parameters, and call it
//
// A word is a number, an operator, a parameter, a function above, or an exported one of an imported module. So no
// function of a module can call itself.

namespace eph {

// What is wrong with a source or a program, as a sentence.
struct Problem : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Function {
    std::string name;
    std::vector<std::string> parameters;  // two at most
    std::vector<std::string> body;
    bool exported = false;
    std::string place{};  // for messages: part_003.eph:7

    // What importers see of it: nothing of the body, unless that is just a number.
    Function interface() const;
};

struct Source {
    std::string text;
    std::vector<std::string> imports{};
    std::vector<Function> functions{};
};

// The file's name is for messages. Throws a Problem.
Source parse(const std::string& file, std::string text);
std::optional<std::uint64_t> number_in(std::string_view word);

}  // namespace eph

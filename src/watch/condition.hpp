#pragma once

#include "base/digest.hpp"
#include "hearth/key.hpp"
#include "hearth/result.hpp"
#include "watch/event_log.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// What a compile was told by the system, in a form that can be checked again, here and on another machine. A result may
// be served wherever all conditions of its compile hold.

namespace hearth::watch {

// The directories that the program itself named. Paths in them are told relative to them, so that a tree that has moved
// is the same tree.
struct Places {
    std::string working_directory;
    std::string program_directory;         // of the program's name; empty: its name has none
    std::vector<std::string> directories;  // include directories, in their order, as they were given
};

// A path as seen from one of the places.
struct Spot {
    enum class From : std::uint8_t { root, working_directory, program_directory, directory };
    From from = From::root;
    std::uint16_t index = 0;  // of a directory
    std::string rest;

    std::string path(const Places& places) const;
    // As the compiler writes it: nothing is put before a relative directory.
    std::string shown(const Places& places) const;
    friend bool operator==(const Spot&, const Spot&) = default;
};

struct Condition {
    enum class Kind : std::uint8_t {
        content,      // a file that was read: its digest
        present,      // a file that was only looked for
        a_directory,  // a directory that was only looked for
        names,        // a directory that was listed: the digest of its names
        absent,       // nothing is there
        refused,      // the system refuses with this error
        leads_to,     // a link, and its target; empty: it is there, and no link
        really,       // a path, and what it is without its links; empty: there is none below its place
        variable,     // has this value
        variable_unset,
        place,            // one of the places is at this path, which the output may hold
        environment,      // all variables: their digest
        found,            // what a program's name means along PATH
        variable_digest,  // has the value of this digest, which may be a secret
    };
    Kind kind = Kind::absent;
    Spot spot{};
    std::string name{};  // of a variable, or a program
    std::string text{};  // its value; a link's target; a real path; the program's path
    base::Sha256 digest{};
    int error = 0;
    // The first condition that is about the same file by another path, or this one: `#pragma once` tells by the file,
    // not by its path, whether it was there before.
    std::uint32_t same_file = 0;

    friend bool operator==(const Condition&, const Condition&) = default;
};

// What the identities of the files were when their contents were last known, one for each condition. They hold on this
// machine alone, and spare it from reading files again.
struct Stamps {
    struct One {
        FileIdentity file;
        bool settled = false;  // any later change would change the identity
    };
    std::vector<One> of;
    bool have_changed = false;  // since they were read
};

struct Conditions {
    std::vector<Condition> list;
    Stamps stamps;
};

// A file that was read.
struct ReadText {
    std::string path;  // as the compiler opened it
    std::string text;  // empty if its digest was known
    base::Sha256 digest{};
    Stamps::One stamp{};
};

// The digest of a file with this identity, if it is known without reading it: it was settled.
using DigestOf = std::function<std::optional<base::Sha256>(const std::string& path, const FileIdentity& file)>;

// Every way in which the compiler may have come to this path. On a machine where they lead to different places, each
// must hold: which of them the compiler took cannot be seen.
std::vector<Spot> spots_of(std::string_view path, const Places& places);

// Of all variables, but those of ours, and those that are others for every command that a shell starts.
base::Sha256 digest_of_environment();

// The real path of what is there, if no link leads away from below its place.
std::string real_path_of(const Spot& spot, const Places& places);

// What a compile depends on, by what it asked. `known_libraries`: beginnings of the names of libraries that the caller
// answers for otherwise. An Error says why it cannot be held: a file changed meanwhile, or something was asked whose
// answer cannot be checked.
Result<Conditions> conditions_of(const EventLog& log, const Places& places,
                                 std::span<const std::string_view> known_libraries,
                                 std::vector<ReadText>* texts = nullptr, const DigestOf& digest_of = {});

// What stands for a variable's value in a result of this question.
base::Sha256 digest_of_value(const Key& question, std::string_view name, std::string_view value);

// Puts digests for the values of variables that may be secrets. Before conditions are kept anywhere.
void hide_values(std::vector<Condition>& list, const Key& question);

// The path of a place; empty if there is none of that number.
std::string path_of_place(Spot::From from, std::uint16_t index, const Places& places);

// How much is looked at for one question, over all lists that its entries hold. Whoever may write to a server decides
// what such a list names, so it must not keep its readers busy. A step is a component of a path, or 512 bytes of a
// file; the others cost as many as they take time. An nvcc compile of CUB with 22 include directories needs some
// 500,000.
class CheckBudget {
public:
    static constexpr std::uint64_t k_steps = 1U << 23;  // a second or two

    // False, from then on, once there are not so many left.
    bool spend(std::uint64_t steps)
    {
        m_left = steps <= m_left ? m_left - steps : 0;
        return !is_spent();
    }
    bool is_spent() const { return m_left == 0; }

private:
    std::uint64_t m_left = k_steps;
};

// The index of a condition of the question's that does not hold here now, or for which no budget is left; list.size()
// if all hold. Brings the stamps up to date.
// Cost: one stat for each condition on files; files whose stamps changed are read again.
std::size_t first_broken(const std::vector<Condition>& list, Stamps& stamps, const Places& places, const Key& question,
                         CheckBudget& budget);

// "cub/config.cuh in the 2nd directory has changed"
std::string why_broken(const Condition& condition, const Places& places);

}  // namespace hearth::watch

#pragma once

#include "base/fork.hpp"
#include "hearth/cache.hpp"
#include "watch/condition.hpp"
#include "watch/event_log.hpp"
#include "watch/file_identity.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// From what a compile asked, and the texts that it read, to what its result depends on.

namespace hearth::compilers {

// What the compiler was told by its caller, as far as texts are concerned.
struct Told {
    std::vector<std::string_view> sources;  // the program, and headers that were given with it
    std::vector<std::string> options;       // without include directories; name expressions
    bool all_paths_matter = false;          // the output holds them, as debug information does
    bool paths_are_fixed = false;           // the compiler wrote others for them, which are in the question
    bool has_log = false;                   // which may hold paths too
    bool is_c = false;                      // and no other language
    bool time_is_watched = false;           // a compile that uses it would have been seen to ask for it
    // An include directory that stands in for the program's own: its path matters only if a file in it was read.
    std::optional<std::size_t> stands_in{};
};

// Variables that a library asked for in this process, with the values that it was told first. A library may ask once
// and remember the answer, so they count for its later compiles too.
// Thread safety: all of it.
class AskedVariables {
public:
    void complete(watch::Conditions& conditions);

private:
    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::map<std::string, std::optional<std::string>> m_first;
};

// That a variable is as it is in this process.
watch::Condition variable_now(const std::string& name);

// Adds one that is not about a file.
void add_condition(watch::Condition condition, watch::Conditions& conditions);

// `cache`: what the texts of files have is remembered there for other processes; null: nowhere. An Error says why the
// result must not be kept.
Result<watch::Conditions> depends_on(const watch::EventLog& log, const watch::Places& places, const Told& told,
                                     std::span<const std::string_view> known_libraries, Cache* cache = nullptr);

// Variables as "NAME=value". One that is the same is mostly the same object.
using Environment = std::shared_ptr<const std::vector<std::string>>;

// The variables of this process that are not there for everybody: those with an underscore. HOME, PATH and their like
// are named in many libraries.
Environment environment_now();

// Which of them a library may ask for before it can be watched, in its constructors: those whose names are in its file.
// `file`: that of the library, if it was just looked at.
std::vector<std::string> asked_at_load(Cache& cache, const std::string& library,
                                       const std::optional<watch::FileIdentity>& file, const Environment& environment);

}  // namespace hearth::compilers

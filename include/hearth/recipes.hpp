#pragma once

#include "hearth/cache.hpp"
#include "hearth/nvrtc.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// What programs compiled with NVRTC, recorded (CacheOptions::record_to, HEARTH_RECORD) so that it can be compiled
// beforehand: for other targets, on a machine without a GPU, by `hearth build`. docs/recipes.md.

namespace hearth::recipes {

// One recorded request, as far as people and schedulers want to know it.
struct Recipe {
    Key key;             // of the request; where no cache could answer it, a name of its own
    std::string name;    // of the program, as it was given
    std::string target;  // that its options name; empty: none
    std::vector<std::string> options;
    std::vector<std::string> name_expressions;
    std::string compiler;              // "nvrtc 13.0"; empty where nothing was compiled
    std::string compiler_build;        // build-id of the library
    std::string why_past_the_cache;    // why no cache can answer it; empty: one can
    std::string missing;               // what the file lacks of it, a sentence; empty: it is whole
    int status = 0;                    // what the compiler returned, where one was asked
    std::chrono::nanoseconds cost{0};  // what compiling it took

    std::uint64_t uses = 0;
    std::uint64_t processes = 0;            // that used it
    std::chrono::nanoseconds first_use{0};  // the earliest, since its process began
    std::uint64_t source_bytes = 0;
    std::uint64_t headers = 0;  // files that were found, and headers that came with the program
    std::uint64_t header_bytes = 0;
};

// What of a file could not be read, and was passed over.
struct Damage {
    std::uint64_t places = 0;
    std::uint64_t bytes = 0;
};

// The recipes of one or several files, each once.
// Thread safety: as an int; what it refers to never changes. Cost: contents stay packed until they are needed.
class HEARTH_API Recipes {
public:
    // In the order in which they were first recorded.
    const std::vector<Recipe>& list() const noexcept;
    const Damage& damage() const noexcept;
    // Sources and headers, each once: as they are, and as they are stored.
    std::uint64_t content_bytes() const noexcept;
    std::uint64_t stored_bytes() const noexcept;

    struct Data;
    explicit Recipes(std::shared_ptr<const Data> data) : m_data(std::move(data)) {}
    const Data& data() const noexcept { return *m_data; }

private:
    std::shared_ptr<const Data> m_data;
};

// An error when there is no such file, when it holds no recipes at all, or those of a newer version. What is damaged
// costs itself.
HEARTH_API Result<Recipes> read(const std::string& path);

// Whether a program can be recorded to this file: it is there and holds recipes, is empty, or can be made.
HEARTH_API Status check_recordable(const std::string& path);

struct MergeReport {
    std::uint64_t recipes = 0;
    std::uint64_t uses = 0;
    std::uint64_t bytes = 0;  // of the file
    Damage damage;            // of the files that were read
};

// One file of several: every recipe and content once, uses added up. Written beside `path` and put in place when it is
// whole; `path` may be among the inputs.
HEARTH_API Result<MergeReport> merge(const std::string& path, const std::vector<std::string>& inputs);

// Whether text such as "sm_90a" or "compute_80" names a target.
HEARTH_API bool is_target(std::string_view text);

// The targets to build a recipe for. It keeps its kind: recorded for compute_90, and asked for sm_80, it is built for
// compute_80. Without targets as it was recorded, which is an empty text where its options name no target; such a
// recipe is always built as recorded too, since that is what its program will ask for.
HEARTH_API std::vector<std::string> targets_of(const Recipe& recipe, const std::vector<std::string>& wanted);

enum class Outcome : std::uint8_t {
    built,
    already_there,       // the cache had it
    failed_as_recorded,  // the compiler says no, as it did when it was recorded
    compile_error,       // the compiler says no, which it did not then; or nobody had asked it
    past_the_cache,      // no cache can answer it
    not_buildable,       // not here: what it needs is not in the file or not on this machine
    failed,              // it should have worked
};
HEARTH_API std::string_view to_string(Outcome outcome);

struct BuildResult {
    Outcome outcome = Outcome::failed;
    Key key;             // under which it is in the cache, where it is
    std::string target;  // empty: as the compiler chooses
    std::string reason;  // a sentence, unless it is in the cache
    std::string log;     // the compiler's
    std::chrono::nanoseconds took{0};
};

struct BuildOptions {
    std::string scratch{};  // an empty directory, for trees of headers; stays the caller's to remove
    std::string library{};  // the libnvrtc to use, as nvrtc::CompileOptions has it
};

// Compiles recipes into a cache. Each is compiled in a tree of its own headers, laid out so that its request has the
// key that it has on the machine which recorded it; that it has is checked, every time. While build() runs it changes
// the working directory and NVRTC_APPEND_FLAGS of the process: it is for a process that does nothing else. Thread
// safety: none.
class HEARTH_API Builder {
public:
    Builder(Cache& cache, Recipes recipes, BuildOptions options);
    ~Builder();
    Builder(Builder&&) noexcept;
    Builder& operator=(Builder&&) noexcept;

    // The recipe of that place in the list, for one of targets_of(). Several targets of one recipe in a row share its
    // tree.
    BuildResult build(std::size_t recipe, const std::string& target);

private:
    struct State;
    std::unique_ptr<State> m_state;
};

// The build-id of the compiler that a Builder would use, to tell it from the recorded one.
HEARTH_API Result<std::string> compiler_build(Cache& cache, const std::string& library = {});

}  // namespace hearth::recipes

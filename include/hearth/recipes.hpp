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

// What programs compiled with NVRTC, or by commands of compilers, is recorded (CacheOptions::record_to, HEARTH_RECORD),
// so that `hearth build` can compile it beforehand: for other targets, or on a machine without a GPU. What they have
// compiled in a way of their own, as frameworks do, is recorded with its result. docs/recipes.md.

namespace hearth::recipes {

enum class Kind : std::uint8_t {
    nvrtc,
    command,  // a compiler that is a program
    result,   // what nobody but the program itself can compile
};

// One recorded request, as far as people and schedulers want to know it.
struct Recipe {
    Kind kind = Kind::nvrtc;
    Key key;                           // of the request; a name of its own if the request goes past the cache
    std::string name;                  // of the program, as it was given
    std::string target;                // the one its options name; empty: none
    std::vector<std::string> options;  // of a command: all its words
    std::vector<std::string> name_expressions;
    std::string compiler;              // "nvrtc 13.0", "g++"; empty if nothing was compiled
    std::string compiler_build;        // build-id of the library, or the program's build
    std::string why_past_the_cache;    // why it goes past the cache; empty: it does not
    std::string missing;               // what the file lacks of it, a sentence; empty: it is whole
    int status = 0;                    // what the compiler returned, if it was asked
    std::chrono::nanoseconds cost{0};  // what compiling it took

    std::uint64_t uses = 0;
    std::uint64_t processes = 0;            // how many used it
    std::chrono::nanoseconds first_use{0};  // the earliest, since its process began
    std::uint64_t source_bytes = 0;
    std::uint64_t headers = 0;  // files that were found, and headers that came with the program
    std::uint64_t header_bytes = 0;
};

// The parts of a file that could not be read and were skipped.
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
    // Of all sources and headers, each counted once: as they are, and as they are stored.
    std::uint64_t content_bytes() const noexcept;
    std::uint64_t stored_bytes() const noexcept;

    struct Data;
    explicit Recipes(std::shared_ptr<const Data> data) : m_data(std::move(data)) {}
    const Data& data() const noexcept { return *m_data; }

private:
    std::shared_ptr<const Data> m_data;
};

// Returns an error if there is no such file, or if it holds no recipes at all or those of a newer version. If a part is
// damaged, only that part is lost.
HEARTH_API Result<Recipes> read(const std::string& path);

// Whether a program can be recorded to this file: the file holds recipes, is empty, or can be created.
HEARTH_API Status check_recordable(const std::string& path);

struct MergeReport {
    std::uint64_t recipes = 0;
    std::uint64_t uses = 0;
    std::uint64_t bytes = 0;  // of the file
    Damage damage;            // of the files that were read
};

// Merges several files into one: every recipe and content once, uses added up. It is written beside `path` and put in
// place when it is whole; `path` may be among the inputs.
HEARTH_API Result<MergeReport> merge(const std::string& path, const std::vector<std::string>& inputs);

// Whether text such as "sm_90a" or "compute_80" names a target.
HEARTH_API bool is_target(std::string_view text);

// The targets to build a recipe for. A recipe keeps its kind of target: if it was recorded for compute_90 and sm_80 is
// wanted, it is built for compute_80. If none are wanted, it is built for the recorded target. That is an empty text if
// its options name no target; such a recipe is always built as recorded too, because its program will ask for that.
// Commands and results are built as they were recorded, whatever is wanted.
HEARTH_API std::vector<std::string> targets_of(const Recipe& recipe, const std::vector<std::string>& wanted);

enum class Outcome : std::uint8_t {
    built,
    already_there,       // the cache had it
    failed_as_recorded,  // the compiler says no, as it did when it was recorded
    compile_error,       // the compiler says no, and did not when it was recorded, or was not asked then
    past_the_cache,      // its request goes past the cache
    not_buildable,       // not here: what it needs is not in the file or not on this machine
    failed,              // it should have worked
};
HEARTH_API std::string_view to_string(Outcome outcome);

struct BuildResult {
    Outcome outcome = Outcome::failed;
    Key key;             // of its entry, if it is in the cache
    std::string target;  // empty: as the compiler chooses
    std::string reason;  // a sentence, unless it is in the cache
    std::string log;     // the compiler's
    std::chrono::nanoseconds took{0};
};

struct BuildOptions {
    std::string scratch{};   // an empty directory, for trees of headers; the caller removes it
    std::string library{};   // the libnvrtc to use, as nvrtc::CompileOptions has it
    std::string recorder{};  // the path of libhearth_recorder.so, without which no command is built
    Trust trust{};           // whose signatures let a recorded result into a cache that signs
};

// Compiles recipes into a cache. Each is compiled in a tree of its own headers, laid out so that its request has the
// same key as on the machine that recorded it; this is checked every time. While build() runs, it changes the working
// directory and variables of the process, so the process must do nothing else. Thread safety: none.
class HEARTH_API Builder {
public:
    Builder(Cache& cache, Recipes recipes, BuildOptions options);
    ~Builder();
    Builder(Builder&&) noexcept;
    Builder& operator=(Builder&&) noexcept;

    // Builds the recipe at that place in the list for one of targets_of(). Several targets of one recipe in a row share
    // its tree.
    BuildResult build(std::size_t recipe, const std::string& target);

private:
    struct State;
    std::unique_ptr<State> m_state;
};

// The build-id of the compiler that a Builder would use, to tell it from the recorded one.
HEARTH_API Result<std::string> compiler_build(Cache& cache, const std::string& library = {});

}  // namespace hearth::recipes

#pragma once

#include "base/shared_library.hpp"
#include "compilers/common/answer.hpp"
#include "compilers/common/depends_on.hpp"
#include "watch/event_log.hpp"
#include "watch/recording.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hearth::compilers {

// A compiler that is a shared library, as this process has loaded it: watched, and never unloaded.
// Thread safety: all of it.
class LoadedCompiler {
public:
    // Loads it, once per process and path.
    static Result<LoadedCompiler*> load(const std::string& path);
    // Null if this process has not loaded it.
    static LoadedCompiler* find(const std::string& path);

    const std::string& path() const { return m_path; }
    const base::SharedLibrary& library() const { return m_library; }
    // The variables of the process when it was loaded.
    const Environment& environment() const { return m_environment; }
    AskedVariables& asked_variables() { return m_asked_variables; }

    // Why its results must not be kept: it cannot be watched, or it is not the build that its file has. Empty: they may
    // be.
    std::string why_not_kept(const std::string& build) const;

private:
    LoadedCompiler(std::string path, base::SharedLibrary library) : m_path(std::move(path)), m_library(library) {}

    std::string m_path;
    base::SharedLibrary m_library;
    std::string m_build;  // of the image in memory
    Environment m_environment;
    const watch::WatchedLibrary* m_watched = nullptr;  // null: m_why_not_watched
    std::string m_why_not_watched;
    AskedVariables m_asked_variables;
};

// What of the environment decides what the compiler at `path` does, besides what it asks for in a compile: as it was
// when this process loaded it, or as it is now. `file`: the one at `path`, if it was just looked at.
std::vector<std::string> environment_of(Cache& cache, const std::string& path,
                                        const std::optional<watch::FileIdentity>& file = {});

// How the calling thread rounds and treats tiny numbers, and what it is where nobody has changed it. A compiler folds
// constants in the mode of the thread that calls it.
#if defined(__x86_64__)
inline constexpr std::uint64_t k_usual_float_mode = 0x1f80;
#else
inline constexpr std::uint64_t k_usual_float_mode = 0;
#endif
std::uint64_t float_mode();

// What has to be as it was when the question was asked, for a result to be its answer.
struct AskedOf {
    std::string build;  // of the compiler
    std::uint64_t float_mode = k_usual_float_mode;
    bool is_kept = true;  // else what the result depends on need not be known
};

// Compiles under watch. `depends_on` makes conditions of what was asked, and may add to the artifact.
using DependsOn = std::function<Result<watch::Conditions>(const watch::EventLog&, Artifact&)>;
Result<Watched> compile_watched(LoadedCompiler& compiler, const AskedOf& asked,
                                const std::function<Result<Artifact>()>& compile, const DependsOn& depends_on);

}  // namespace hearth::compilers

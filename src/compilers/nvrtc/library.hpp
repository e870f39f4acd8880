#pragma once

#include "compilers/common/depends_on.hpp"
#include "hearth/cache.hpp"
#include "hearth/nvrtc.hpp"
#include "watch/recording.hpp"

#include <memory>
#include <string>

namespace hearth::nvrtc {

// Which NVRTC a compile would use, read from its files without loading it.
struct Identity {
    std::string path;
    std::string build_id;
    std::string builtins;  // digest of the library of built-in headers beside it

    friend bool operator==(const Identity&, const Identity&) = default;
};

// Finds the library: the configured path, HEARTH_NVRTC, then everywhere hearth/libraries.hpp looks. The cache remembers
// the digest of the builtins by the file's identity.
Result<Identity> identify(Cache& cache, const std::string& configured);

// The variable from which NVRTC takes more options for every compile, with the sign behind it.
inline constexpr std::string_view k_appended_flags = "NVRTC_APPEND_FLAGS=";

// What of the environment decides what this compiler does, besides what it asks for in a compile: as it was when the
// library was loaded, or as it is now if this process has not loaded it.
std::vector<std::string> environment_of(Cache& cache, const Identity& compiler);

// How the calling thread rounds and treats tiny numbers, and what it is where nobody has changed it.
#if defined(__x86_64__)
inline constexpr std::uint64_t k_usual_float_mode = 0x1f80;
#else
inline constexpr std::uint64_t k_usual_float_mode = 0;
#endif
std::uint64_t float_mode();

// The functions of a loaded libnvrtc, which is watched.
class Library {
public:
    // Loads it, once per process and path.
    static Result<std::shared_ptr<Library>> load(const std::string& path);

    // The whole result, also of a failed compile. An Error if NVRTC could not work at all.
    Result<Artifact> compile(const Program& program, const std::vector<std::string>& options) const;

    // Why its results must not be kept: it cannot be watched, or the library in memory is not the one that was
    // identified. Empty: they may be.
    std::string why_not_kept(const Identity& compiler) const;
    compilers::AskedVariables& asked_variables() { return m_asked_variables; }
    const std::vector<std::string>& environment_at_load() const { return m_environment; }

    std::string version() const;
    LibraryFacts facts() const;

private:
    struct Functions;
    Library() = default;

    std::shared_ptr<const Functions> m_functions;
    std::string m_build_id;  // of the image in memory
    std::vector<std::string> m_environment;
    const watch::WatchedLibrary* m_watched = nullptr;  // null: m_why_not_watched
    std::string m_why_not_watched;
    compilers::AskedVariables m_asked_variables;
};

// The section "names": every name expression and its lowered name.
std::string encode_names(const std::vector<std::pair<std::string, std::string>>& names);
std::optional<std::string> lowered_name(std::string_view section, std::string_view expression);

}  // namespace hearth::nvrtc

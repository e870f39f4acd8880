#pragma once

#include "compilers/common/loaded_compiler.hpp"
#include "hearth/cache.hpp"
#include "hearth/nvrtc.hpp"

#include <memory>
#include <optional>
#include <string>
#include <tuple>

namespace hearth::nvrtc {

// Which NVRTC a compile would use, read from its files without loading it.
struct Identity {
    std::string path;
    std::string build_id;
    std::string builtins;  // digest of the library of built-in headers beside it
    // Its file, if it was looked at to tell this. It is no part of which NVRTC it is.
    std::optional<watch::FileIdentity> file{};

    friend bool operator==(const Identity& a, const Identity& b)
    {
        return std::tie(a.path, a.build_id, a.builtins) == std::tie(b.path, b.build_id, b.builtins);
    }
};

// Finds the library: the configured path, HEARTH_NVRTC, then everywhere hearth/libraries.hpp looks. The cache remembers
// the digest of the builtins by the file's identity.
Result<Identity> identify(Cache& cache, const std::string& configured);

// The variable from which NVRTC takes more options for every compile, with the sign behind it.
inline constexpr std::string_view k_appended_flags = "NVRTC_APPEND_FLAGS=";

// As compilers::environment_of().
std::vector<std::string> environment_of(Cache& cache, const Identity& compiler);

// The functions of a loaded libnvrtc, which is watched.
class Library {
public:
    // Loads it if this process has not.
    static Result<Library> load(const std::string& path);

    // The whole result, also of a failed compile. An Error if NVRTC could not work at all.
    Result<Artifact> compile(const Program& program, const std::vector<std::string>& options) const;

    compilers::LoadedCompiler& compiler() const { return *m_compiler; }
    std::string version() const;
    LibraryFacts facts() const;

private:
    struct Functions;
    Library() = default;
    Result<std::optional<Artifact>> try_compile(const Program& program, const std::vector<std::string>& options) const;
    bool load_builtins() const;

    std::shared_ptr<const Functions> m_functions;
    compilers::LoadedCompiler* m_compiler = nullptr;
};

// The section "names": every name expression and its lowered name.
std::string encode_names(const std::vector<std::pair<std::string, std::string>>& names);
std::optional<std::string> lowered_name(std::string_view section, std::string_view expression);

}  // namespace hearth::nvrtc

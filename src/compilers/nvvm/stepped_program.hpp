#pragma once

#include "compilers/common/stepped_calls.hpp"

#include <array>
#include <optional>
#include <string>

namespace hearth::nvvm {

// nvvmResult
inline constexpr int k_success = 0;
inline constexpr int k_invalid_input = 4;
inline constexpr int k_invalid_program = 5;
inline constexpr int k_compilation = 9;

inline constexpr compilers::SteppedLibrary k_stepped_nvvm{"libNVVM", "nvvm", k_compilation, k_invalid_input};

// What can be asked for, by the sections' names. Both are there from the beginning, empty but for a zero.
inline constexpr std::array k_sections{"ptx", "log"};

// The functions of a loaded libnvvm that a program uses.
struct Library {
    using Handle = void*;

    int (*create)(Handle*) = nullptr;
    int (*destroy)(Handle*) = nullptr;
    int (*add)(Handle, const char*, std::size_t, const char*) = nullptr;
    int (*lazy_add)(Handle, const char*, std::size_t, const char*) = nullptr;
    int (*verify)(Handle, int, const char* const*) = nullptr;
    int (*compile)(Handle, int, const char* const*) = nullptr;
    std::array<compilers::SteppedOutput, k_sections.size()> outputs{};
    compilers::LoadedCompiler* compiler = nullptr;

    // Loads it if this process has not.
    static Result<Library> load(const std::string& path);
};

// One program of libNVVM. Whether it is created and modules are added is not asked for: libNVVM only copies them, so
// that they are parts of the question that comes with `verify` or `complete`, which compiles.
//
// Of the options, `type` is how many the program said there are: there may be fewer, if a pointer was missing.
class SteppedProgram : public compilers::SteppedCalls {
public:
    // `library`: the path of a libnvvm.
    explicit SteppedProgram(std::string library);
    ~SteppedProgram() override;

    // What can be asked for before anything was compiled.
    static Artifact nothing_yet();
    Artifact failure(const std::string& log) const override;

private:
    Result<compilers::LoadedCompiler*> load() override;
    std::span<const compilers::SteppedOutput> outputs() const override { return m_library->outputs; }
    int apply(const Call& call, bool again) override;
    bool is_deterministic(int status) const override;

    std::optional<Library> m_library;
};

}  // namespace hearth::nvvm

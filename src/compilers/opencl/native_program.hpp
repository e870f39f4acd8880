#pragma once

#include "compilers/opencl/context.hpp"

#include <memory>

namespace hearth::opencl {

// A cl_program that is released at the end, and keeps its context.
class NativeProgram {
public:
    NativeProgram() = default;
    NativeProgram(std::shared_ptr<const ContextState> context, cl_program id);

    explicit operator bool() const { return m_program != nullptr; }
    cl_program id() const { return m_program.get(); }

    // Empty when the driver gives none.
    Bytes binary() const;
    std::string build_log() const;

private:
    std::shared_ptr<const ContextState> m_context;
    std::shared_ptr<_cl_program> m_program;
};

// Whether a program's binary stays as it was when it was first asked for, or given, whatever the program compiles
// afterwards. So it is with PoCL, which compiles a kernel for a local size when it is first launched with it: its
// binary must be taken once, and after the launches.
bool freezes_binary(const Device& device);

// The program and what came of building it: the sections "binary" and "log". An Error when the driver could not do its
// work at all. Where binaries freeze, this one was taken of a twin, and the program's own is yet to be taken.
struct Built {
    NativeProgram program;  // none when the build failed
    Artifact artifact;
};
Result<Built> build_from_source(const std::shared_ptr<const ContextState>& context, const Source& source);

// The binary of one more program of the source; empty when there is none to be had.
Bytes binary_of_another(const std::shared_ptr<const ContextState>& context, const Source& source);

// An Error of Code::other_version says that the driver refused the binary.
Result<NativeProgram> load_binary(const std::shared_ptr<const ContextState>& context, ByteView binary,
                                  const std::string& options);

}  // namespace hearth::opencl

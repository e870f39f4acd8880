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

    // Empty if the driver gives none.
    Bytes binary() const;
    std::string build_log() const;

private:
    std::shared_ptr<const ContextState> m_context;
    std::shared_ptr<_cl_program> m_program;
};

// Whether a program's binary stays as it was when it was first taken or given, whatever the program compiles
// afterwards. PoCL does this. It compiles a kernel for a local size at the first launch with it, so its binary must be
// taken only once, after the launches.
bool freezes_binary(const Device& device);

// The program and the result of building it: the sections "binary" and "log". An Error if the driver could not work at
// all. If binaries freeze, this binary was taken from a second program, and the program's own is still to be taken.
struct Built {
    NativeProgram program;  // none if the build failed
    Artifact artifact;
};
Result<Built> build_from_source(const std::shared_ptr<const ContextState>& context, const Source& source);

// The binary of another program built from the source; empty if there is none.
Bytes binary_of_another(const std::shared_ptr<const ContextState>& context, const Source& source);

// An Error of Code::other_version says that the driver refused the binary.
Result<NativeProgram> load_binary(const std::shared_ptr<const ContextState>& context, ByteView binary,
                                  const std::string& options);

}  // namespace hearth::opencl

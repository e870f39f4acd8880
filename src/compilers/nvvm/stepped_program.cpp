#include "compilers/nvvm/stepped_program.hpp"

#include "base/error.hpp"

#include <algorithm>
#include <vector>

namespace hearth::nvvm {

namespace {

// Memory that ran out, a program that could not be created, and what newer versions may add may be otherwise next time.
constexpr int k_version_mismatch = 3;

Artifact told(int status, const std::string& log)
{
    Artifact artifact;
    artifact.status = status;
    for (const char* section : k_sections) {
        const bool is_log = std::string_view(section) == "log";
        artifact.sections.push_back({std::string(section) + " status", Bytes::copy_of(std::string_view("0"))});
        artifact.sections.push_back({section, Bytes::copy_of((is_log ? log : std::string{}) + '\0')});
    }
    return artifact;
}

}  // namespace

Result<Library> Library::load(const std::string& path)
{
    Library loaded;
    HEARTH_TRY_SET(loaded.compiler, compilers::LoadedCompiler::load(path));
    const base::SharedLibrary& library = loaded.compiler->library();
    base::FunctionFinder needed(library);
    needed.need(loaded.create, "nvvmCreateProgram");
    needed.need(loaded.destroy, "nvvmDestroyProgram");
    needed.need(loaded.add, "nvvmAddModuleToProgram");
    needed.need(loaded.lazy_add, "nvvmLazyAddModuleToProgram");
    needed.need(loaded.verify, "nvvmVerifyProgram");
    needed.need(loaded.compile, "nvvmCompileProgram");
    static constexpr std::array<const char*, k_sections.size()> k_getters{"nvvmGetCompiledResult", "nvvmGetProgramLog"};
    for (std::size_t i = 0; i < k_getters.size(); ++i) {
        loaded.outputs[i].section = k_sections[i];
        needed.need(loaded.outputs[i].size, (std::string(k_getters[i]) + "Size").c_str());
        needed.need(loaded.outputs[i].get, k_getters[i]);
    }
    if (!needed.missing().empty())
        return error(Code::unavailable, "{} is no libnvvm that Hearth knows: it lacks {}.", path, needed.missing());
    return loaded;
}

SteppedProgram::SteppedProgram(std::string library) : SteppedCalls(std::move(library), k_stepped_nvvm)
{
    add({.kind = Kind::create});
    assume(k_success);
}

SteppedProgram::~SteppedProgram()
{
    if (m_handle != nullptr)
        m_library->destroy(&m_handle);
}

Result<compilers::LoadedCompiler*> SteppedProgram::load()
{
    if (!m_library) {
        HEARTH_TRY_SET(m_library, Library::load(path()));
    }
    return m_library->compiler;
}

int SteppedProgram::apply(const Call& call, bool /*again*/)
{
    const char* const name = call.name ? call.name->c_str() : nullptr;
    std::vector<const char*> options;
    for (const std::string& option : call.options)
        options.push_back(option.c_str());
    options.resize(std::max<std::size_t>(options.size() + 1, static_cast<std::size_t>(std::max(call.type, 0))));
    switch (call.kind) {
    case Kind::create:
        return m_library->create(&m_handle);
    case Kind::data:
        return m_library->add(m_handle, call.data->data(), call.data->size(), name);
    case Kind::lazy_data:
        return m_library->lazy_add(m_handle, call.data->data(), call.data->size(), name);
    case Kind::verify:
        return m_library->verify(m_handle, call.type, options.data());
    case Kind::complete:
        return m_library->compile(m_handle, call.type, options.data());
    default:
        return k_invalid_program;
    }
}

bool SteppedProgram::is_deterministic(int status) const
{
    return status == k_success || (status >= k_version_mismatch && status <= k_compilation);
}

Artifact SteppedProgram::nothing_yet()
{
    return told(k_success, {});
}

Artifact SteppedProgram::failure(const std::string& log) const
{
    return told(k_compilation, "hearth: " + log + "\n");
}

}  // namespace hearth::nvvm

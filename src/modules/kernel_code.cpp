#include "modules/kernel_code.hpp"

#include "base/error.hpp"
#include "hearth/lasting.hpp"
#include "modules/compile_here.hpp"
#include "modules/ptx_module.hpp"

#include <algorithm>

namespace hearth::cuda {

namespace {

class NvrtcCode final : public KernelCode {
public:
    NvrtcCode(Cache& cache, nvrtc::Program program, nvrtc::CompileOptions options)
        : m_cache(lasting(cache)), m_program(std::move(program)), m_options(std::move(options))
    {
    }

    Result<FunctionLease> load(const Place& place, const std::string& name) const override
    {
        return load_program(*place.driver, place.context, m_cache, m_program, m_options, name);
    }

private:
    Cache& m_cache;
    const nvrtc::Program m_program;
    const nvrtc::CompileOptions m_options;
};

class PtxCode final : public KernelCode {
public:
    PtxCode(Cache& cache, ptx::Program program, ptx::CompileOptions options)
        : m_cache(lasting(cache)), m_program(std::move(program)), m_options(std::move(options))
    {
    }

    Result<FunctionLease> load(const Place& place, const std::string& name) const override
    {
        HEARTH_TRY_SET(ModuleLease module,
                       load_ptx(ModuleTable::of_process(), place, m_cache, {m_program.text, m_program, m_options}));
        return LoadedFunction::find(*place.driver, std::move(module), name, name);
    }

private:
    Cache& m_cache;
    const ptx::Program m_program;
    const ptx::CompileOptions m_options;
};

class GivenCode final : public KernelCode {
public:
    explicit GivenCode(ByteView image) : m_image(Bytes::copy_of(image)), m_key(Key::of("cuda image", image)) {}

    Result<FunctionLease> load(const Place& place, const std::string& name) const override
    {
        HEARTH_TRY_SET(ModuleLease module, ModuleTable::of_process().get(*place.driver, place.context, m_key, m_image));
        return LoadedFunction::find(*place.driver, std::move(module), name, name);
    }

private:
    const Bytes m_image;
    const Key m_key;
};

}  // namespace

std::unique_ptr<const KernelCode> code_of(Cache& cache, nvrtc::Program program, nvrtc::CompileOptions options)
{
    return std::make_unique<NvrtcCode>(cache, std::move(program), std::move(options));
}

std::unique_ptr<const KernelCode> code_of(Cache& cache, ptx::Program program, ptx::CompileOptions options)
{
    return std::make_unique<PtxCode>(cache, std::move(program), std::move(options));
}

std::unique_ptr<const KernelCode> code_of(ByteView image)
{
    return std::make_unique<GivenCode>(image);
}

nvrtc::Program with_name(nvrtc::Program program, const std::string& name)
{
    std::vector<std::string>& names = program.name_expressions;
    const bool is_expression = name.find('<') != std::string::npos || name.find("::") != std::string::npos;
    if (is_expression && std::find(names.begin(), names.end(), name) == names.end())
        names.push_back(name);
    return program;
}

}  // namespace hearth::cuda

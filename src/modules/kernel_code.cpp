#include "modules/kernel_code.hpp"

#include "base/error.hpp"
#include "hearth/lasting.hpp"
#include "modules/compile_here.hpp"
#include "modules/ptx_module.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace hearth::cuda {

namespace {

bool is_expression(const std::string& name)
{
    return name.find('<') != std::string::npos || name.find("::") != std::string::npos;
}

bool contains(const std::vector<std::string>& list, const std::string& item)
{
    return std::find(list.begin(), list.end(), item) != list.end();
}

class NvrtcCode final : public KernelCode {
public:
    NvrtcCode(Cache& cache, nvrtc::Program program, nvrtc::CompileOptions options)
        : m_cache(lasting(cache)), m_program(std::move(program)), m_options(std::move(options))
    {
    }

    Result<FunctionLease> load(const Place& place, const std::string& name) const override
    {
        const auto compile = [&](Cache& cache) { return compile_here(*place.driver, cache, m_program, m_options); };
        HEARTH_TRY_SET(LoadedHere loaded, load_here(ModuleTable::of_process(), place, m_cache, compile));
        std::string symbol = name;
        if (contains(m_program.name_expressions, name)) {
            std::optional<std::string> lowered = lowered_name(loaded.compiled, name);
            if (!lowered) {
                // Another thread may have replaced the entry that we were given.
                HEARTH_TRY_SET(loaded.compiled, compile(m_cache));
                lowered = lowered_name(loaded.compiled, name);
            }
            if (!lowered)
                return Error{Code::not_found,
                             fmt::format("The compiler gave no lowered name for \"{}\". Name a kernel of the program, "
                                         "with its template arguments.",
                                         name),
                             loaded.compiled.log};
            symbol = *std::move(lowered);
        }
        return LoadedFunction::find(*place.driver, std::move(loaded.module), name, symbol);
    }

private:
    // Takes its result; the log stays.
    static std::optional<std::string> lowered_name(CompiledHere& compiled, const std::string& name)
    {
        return nvrtc::Compiled(std::move(compiled.compiled), compiled.log).lowered_name(name);
    }

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

std::unique_ptr<const KernelCode> code_of(Cache& cache, nvrtc::Program program, nvrtc::CompileOptions options,
                                          const std::string& name)
{
    if (is_expression(name) && !contains(program.name_expressions, name))
        program.name_expressions.push_back(name);
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

}  // namespace hearth::cuda

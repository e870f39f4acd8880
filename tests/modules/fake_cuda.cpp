#include "fake_cuda.hpp"

#include <cstring>
#include <vector>

namespace hearth::test {

namespace {

FakeCuda* g_fake = nullptr;
thread_local std::vector<CUctx_st*> t_current;

}  // namespace

struct FakeFunctions {
    static int current_context(CUctx_st** context)
    {
        *context = t_current.empty() ? nullptr : t_current.back();
        return gpu::cuda::k_success;
    }
    static int context_id(CUctx_st* context, unsigned long long* id)
    {
        if (context == nullptr)
            current_context(&context);
        if (context == nullptr)
            return gpu::cuda::k_invalid_context;
        const std::lock_guard lock(g_fake->m_mutex);
        const auto found = g_fake->m_contexts.find(context);
        if (found == g_fake->m_contexts.end())
            return gpu::cuda::k_context_is_destroyed;
        *id = found->second;
        return gpu::cuda::k_success;
    }
    static int push(CUctx_st* context)
    {
        t_current.push_back(context);
        return gpu::cuda::k_success;
    }
    static int pop(CUctx_st** context)
    {
        if (t_current.empty()) {
            ++g_fake->m_misuses;
            return gpu::cuda::k_invalid_context;
        }
        *context = t_current.back();
        t_current.pop_back();
        return gpu::cuda::k_success;
    }
    static int load(CUmod_st** module, const void* image)
    {
        return g_fake->load(module, static_cast<const char*>(image));
    }
    static int load_with_options(CUmod_st** module, const void* image, unsigned count, int* options, void** values)
    {
        const std::string text = static_cast<const char*>(image);
        constexpr int k_error_log = 5;
        if (const auto found = g_fake->rejected.find(text); found != g_fake->rejected.end())
            for (unsigned i = 0; i < count; ++i)
                if (options[i] == k_error_log)
                    std::strcpy(static_cast<char*>(values[i]), found->second.c_str());
        return g_fake->load(module, text);
    }
    static int unload(CUmod_st* module) { return g_fake->unload(module); }
    static int function(CUfunc_st** function, CUmod_st* module, const char* name)
    {
        ++g_fake->m_functions;
        *function = reinterpret_cast<CUfunc_st*>(module);
        return g_fake->absent.contains(name) ? gpu::cuda::k_not_found : gpu::cuda::k_success;
    }
    static int function_attribute(int* value, int, CUfunc_st*)
    {
        *value = 0;
        return gpu::cuda::k_success;
    }
    static int current_device(int* device)
    {
        *device = 0;
        return gpu::cuda::k_success;
    }
    static int device_attribute(int* value, int attribute, int)
    {
        *value = attribute == gpu::cuda::k_compute_major ? 9 : 0;  // sm_90
        return gpu::cuda::k_success;
    }
    static int exchange_capture_mode(int*) { return gpu::cuda::k_success; }
    static int error_name(int, const char** text)
    {
        *text = "CUDA_ERROR_FAKE";
        return gpu::cuda::k_success;
    }
    static int error_text(int, const char** text)
    {
        *text = "the fake driver says no";
        return gpu::cuda::k_success;
    }
};

FakeCuda::FakeCuda()
{
    m_driver.current_context = &FakeFunctions::current_context;
    m_driver.context_id = &FakeFunctions::context_id;
    m_driver.push_current = &FakeFunctions::push;
    m_driver.pop_current = &FakeFunctions::pop;
    m_driver.load = &FakeFunctions::load;
    m_driver.load_with_options = &FakeFunctions::load_with_options;
    m_driver.unload = &FakeFunctions::unload;
    m_driver.function = &FakeFunctions::function;
    m_driver.function_attribute = &FakeFunctions::function_attribute;
    m_driver.current_device = &FakeFunctions::current_device;
    m_driver.device_attribute = &FakeFunctions::device_attribute;
    m_driver.exchange_capture_mode = &FakeFunctions::exchange_capture_mode;
    m_driver.error_name = &FakeFunctions::error_name;
    m_driver.error_text = &FakeFunctions::error_text;
    g_fake = this;
}

FakeCuda::~FakeCuda()
{
    t_current.clear();
    g_fake = nullptr;
}

gpu::CudaContext FakeCuda::make_context(int place)
{
    const std::lock_guard lock(m_mutex);
    auto* handle = reinterpret_cast<CUctx_st*>(static_cast<std::uintptr_t>(place));
    m_contexts[handle] = ++m_last_id;
    return {handle, m_last_id};
}

void FakeCuda::destroy_context(const gpu::CudaContext& context)
{
    const std::lock_guard lock(m_mutex);
    m_contexts.erase(context.handle);
    std::erase_if(m_modules, [&](const auto& module) { return module.second == context.id; });
}

void FakeCuda::make_current(const gpu::CudaContext& context)
{
    t_current = {context.handle};
}

std::size_t FakeCuda::loaded() const
{
    const std::lock_guard lock(m_mutex);
    return m_modules.size();
}

int FakeCuda::load(CUmod_st** module, const std::string& image)
{
    if (in_load)
        in_load(image);
    if (rejected.contains(image))
        return gpu::cuda::k_invalid_ptx;
    ++m_loads;
    const std::lock_guard lock(m_mutex);
    const auto context = t_current.empty() ? m_contexts.end() : m_contexts.find(t_current.back());
    if (context == m_contexts.end()) {
        ++m_misuses;
        return gpu::cuda::k_invalid_context;
    }
    *module = reinterpret_cast<CUmod_st*>(++m_last_module);
    m_modules[*module] = context->second;
    return gpu::cuda::k_success;
}

int FakeCuda::unload(CUmod_st* module)
{
    const std::lock_guard lock(m_mutex);
    const auto found = m_modules.find(module);
    const auto context = t_current.empty() ? m_contexts.end() : m_contexts.find(t_current.back());
    if (found == m_modules.end() || context == m_contexts.end() || context->second != found->second) {
        ++m_misuses;
        return gpu::cuda::k_invalid_context;
    }
    m_modules.erase(found);
    ++m_unloads;
    return gpu::cuda::k_success;
}

}  // namespace hearth::test

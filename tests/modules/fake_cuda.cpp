#include "fake_cuda.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace hearth::test {

namespace {

FakeCuda* g_fake = nullptr;
thread_local std::vector<CUctx_st*> t_current;

// Handles are small numbers.
template <class Handle>
Handle* handle(std::uintptr_t number)
{
    return reinterpret_cast<Handle*>(number);  // NOLINT(performance-no-int-to-ptr)
}

void* pointer(std::uint64_t address)
{
    return handle<void>(address);
}

}  // namespace

FakeCuda::FakeCuda()
{
    m_driver.driver_version = [](int* version) { return *version = 13000, 0; };
    m_driver.error_name = [](int, const char** text) { return *text = "CUDA_ERROR_FAKE", 0; };
    m_driver.error_text = [](int, const char** text) { return *text = "the fake driver says no", 0; };
    m_driver.device_name = [](char* name, int, int) { return std::strcpy(name, "A device"), 0; };
    m_driver.device_attribute = [](int* value, int attribute, int) {
        *value = attribute == gpu::cuda::k_compute_major ? 9 : attribute == gpu::cuda::k_compute_minor ? 0 : 99'999;
        return 0;
    };
    m_driver.current_device = [](int* device) { return *device = 0; };
    set_contexts();
    set_modules();
    set_memory();
    m_driver.create_stream = [](CUstream_st** stream, unsigned) { return *stream = handle<CUstream_st>(64), 0; };
    m_driver.destroy_stream = [](CUstream_st*) { return 0; };
    m_driver.finish_stream = [](CUstream_st*) { return 0; };
    m_driver.wait_in_stream = [](CUstream_st*, CUevent_st*, unsigned) { return 0; };
    m_driver.capture_status = [](CUstream_st*, int* status) { return *status = gpu::cuda::k_capture_none, 0; };
    m_driver.exchange_capture_mode = [](int*) { return 0; };
    m_driver.create_event = [](CUevent_st** event, unsigned) {
        ++g_fake->m_events;
        return *event = handle<CUevent_st>(++g_fake->m_last_event), 0;
    };
    m_driver.destroy_event = [](CUevent_st*) { return --g_fake->m_events, 0; };
    m_driver.record_event = [](CUevent_st*, CUstream_st*) { return 0; };
    m_driver.query_event = [](CUevent_st*) { return 0; };
    g_fake = this;
}

void FakeCuda::set_contexts()
{
    m_driver.primary_retain = [](CUctx_st** context, int) {
        *context = handle<CUctx_st>(1);
        if (unsigned long long id = 0; g_fake->m_driver.context_id(*context, &id) != gpu::cuda::k_success)
            g_fake->make_context(1);
        return 0;
    };
    m_driver.primary_release = [](int) { return 0; };
    m_driver.create_context = [](CUctx_st** context, unsigned, int) {
        *context = g_fake->make_context(++g_fake->m_last_place).handle;
        return g_fake->m_driver.push_current(*context);
    };
    m_driver.destroy_context = [](CUctx_st* context) { return g_fake->destroy_context({context, 0}), 0; };
    m_driver.current_context = [](CUctx_st** context) {
        return *context = t_current.empty() ? nullptr : t_current.back(), 0;
    };
    m_driver.context_id = [](CUctx_st* context, unsigned long long* id) {
        if (context == nullptr)
            g_fake->m_driver.current_context(&context);
        if (context == nullptr)
            return gpu::cuda::k_invalid_context;
        const std::lock_guard lock(g_fake->m_mutex);
        const auto found = g_fake->m_contexts.find(context);
        if (found == g_fake->m_contexts.end())
            return gpu::cuda::k_context_is_destroyed;
        *id = found->second;
        return gpu::cuda::k_success;
    };
    m_driver.push_current = [](CUctx_st* context) { return t_current.push_back(context), 0; };
    m_driver.pop_current = [](CUctx_st** context) {
        if (t_current.empty()) {
            ++g_fake->m_misuses;
            return gpu::cuda::k_invalid_context;
        }
        *context = t_current.back();
        t_current.pop_back();
        return gpu::cuda::k_success;
    };
}

void FakeCuda::set_modules()
{
    m_driver.load = [](CUmod_st** module, const void* image) {
        return g_fake->load(module, static_cast<const char*>(image));
    };
    m_driver.load_with_options = [](CUmod_st** module, const void* image, unsigned count, int* options, void** values) {
        const std::string text = static_cast<const char*>(image);
        constexpr int k_error_log = 5;
        if (const auto found = g_fake->rejected.find(text); found != g_fake->rejected.end())
            for (unsigned i = 0; i < count; ++i)
                if (options[i] == k_error_log)
                    std::strcpy(static_cast<char*>(values[i]), found->second.c_str());
        return g_fake->load(module, text);
    };
    m_driver.unload = [](CUmod_st* module) { return g_fake->unload(module); };
    m_driver.function = [](CUfunc_st** function, CUmod_st* module, const char* name) {
        ++g_fake->m_functions;
        *function = reinterpret_cast<CUfunc_st*>(module);
        return g_fake->absent.contains(name) ? gpu::cuda::k_not_found : gpu::cuda::k_success;
    };
    m_driver.function_attribute = [](int* value, int, CUfunc_st*) { return *value = 0; };
}

void FakeCuda::set_memory()
{
    m_driver.allocate = [](std::uint64_t* address, std::size_t bytes) {
        return *address = reinterpret_cast<std::uintptr_t>(std::malloc(bytes)), 0;
    };
    m_driver.free = [](std::uint64_t address) { return std::free(pointer(address)), 0; };
    m_driver.allocate_host = [](void** memory, std::size_t bytes, unsigned) {
        return *memory = std::aligned_alloc(64, bytes), 0;
    };
    m_driver.free_host = [](void* memory) { return std::free(memory), 0; };
    m_driver.pointer_attribute = [](void*, int, std::uint64_t) { return gpu::cuda::k_invalid_value; };
    m_driver.copy_to_device = [](std::uint64_t to, const void* from, std::size_t bytes, CUstream_st*) {
        return std::memcpy(pointer(to), from, bytes), 0;
    };
    m_driver.copy_to_host = [](void* to, std::uint64_t from, std::size_t bytes, CUstream_st*) {
        return std::memcpy(to, pointer(from), bytes), 0;
    };
    m_driver.copy_between = [](std::uint64_t to, CUctx_st*, std::uint64_t from, CUctx_st*, std::size_t bytes,
                               CUstream_st*) { return std::memcpy(pointer(to), pointer(from), bytes), 0; };
}

FakeCuda::~FakeCuda()
{
    t_current.clear();
    g_fake = nullptr;
}

gpu::CudaContext FakeCuda::make_context(int place)
{
    const std::lock_guard lock(m_mutex);
    auto* const context = handle<CUctx_st>(static_cast<std::uintptr_t>(place));
    m_last_place = std::max<int>(m_last_place, place);
    m_contexts[context] = ++m_last_id;
    return {context, m_last_id};
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
    *module = handle<CUmod_st>(++m_last_module);
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

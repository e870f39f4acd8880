#include "compilers/ptx/driver_link.hpp"

#include "base/elf.hpp"
#include "base/error.hpp"
#include "base/shared_library.hpp"
#include "base/text.hpp"

#include <array>
#include <cstdint>
#include <dlfcn.h>
#include <fmt/format.h>
#include <memory>
#include <optional>

namespace hearth::ptx {

namespace {

using Context = void*;
using LinkState = void*;

constexpr int k_driver_success = 0;
constexpr int k_driver_input_ptx = 1;
constexpr std::size_t k_log_size = std::size_t{64} << 10U;

// CUjit_option
enum JitOption : int {
    k_max_registers = 0,
    k_info_log = 3,
    k_info_log_size = 4,
    k_error_log = 5,
    k_error_log_size = 6,
    k_optimization_level = 7,
    k_target = 9,
    k_debug_info = 11,
    k_log_verbose = 12,
    k_line_info = 13,
};

constexpr int k_unknown = 999;

// Errors that the same input always gives: an invalid image, no code for this GPU, invalid PTX, PTX that is too new, an
// invalid source. An undefined symbol is an unknown error to the driver, but its log explains it.
bool is_deterministic(int result, bool explained)
{
    for (const int known : {200, 209, 218, 222, 300})
        if (result == known)
            return true;
    return result == k_unknown && explained;
}

struct JitOptions {
    std::vector<int> names;
    std::vector<void*> values;

    // Numbers are passed as pointers.
    void add(int name, std::uint64_t value)
    {
        names.push_back(name);
        values.push_back(reinterpret_cast<void*>(static_cast<std::uintptr_t>(value)));  // NOLINT(performance-*)
    }
    void add(int name, void* value)
    {
        names.push_back(name);
        values.push_back(value);
    }
};

// "sm_90" is 90, "sm_90a" is 65536 + 90, "sm_90f" is 131072 + 90, as CUjit_target has it.
std::optional<std::uint64_t> target_number(std::string_view target)
{
    if (!target.starts_with("sm_"))
        return std::nullopt;
    target.remove_prefix(3);
    std::uint64_t kind = 0;
    if (target.ends_with('a'))
        kind = 0x10000;
    else if (target.ends_with('f'))
        kind = 0x20000;
    if (kind != 0)
        target.remove_suffix(1);
    const std::optional<std::uint64_t> version = base::parse_number<std::uint64_t>(target);
    return version ? std::optional(kind + *version) : std::nullopt;
}

// False if the driver has no such option.
bool translate(std::string_view option, JitOptions& out)
{
    static constexpr std::string_view k_registers = "-maxrregcount=";
    if (option == "-g")
        out.add(k_debug_info, std::uint64_t{1});
    else if (option == "-lineinfo")
        out.add(k_line_info, std::uint64_t{1});
    else if (option == "-verbose")
        out.add(k_log_verbose, std::uint64_t{1});
    else if (option.starts_with("-arch="))
        return true;  // the target is read separately
    else if (const auto level =
                 option.starts_with("-O") ? base::parse_number<std::uint64_t>(option.substr(2)) : std::nullopt;
             level && *level <= 4)
        out.add(k_optimization_level, *level);
    else if (const auto count = option.starts_with(k_registers)
                                    ? base::parse_number<std::uint64_t>(option.substr(k_registers.size()))
                                    : std::nullopt)
        out.add(k_max_registers, *count);
    else
        return false;
    return true;
}

struct DriverFunctions {
    int (*init)(unsigned);
    int (*driver_version)(int*);
    int (*error_name)(int, const char**);
    int (*current)(Context*);
    int (*device)(int*, int);
    int (*retain_primary)(Context*, int);
    int (*release_primary)(int);
    int (*push)(Context);
    int (*pop)(Context*);
    int (*create)(unsigned, int*, void**, LinkState*);
    int (*add)(LinkState, int, void*, std::size_t, const char*, unsigned, int*, void**);
    int (*complete)(LinkState, void**, std::size_t*);
    int (*destroy)(LinkState);

    std::string name_of(int result) const
    {
        const char* name = nullptr;
        return error_name(result, &name) == k_driver_success && name != nullptr ? name
                                                                                : fmt::format("error {}", result);
    }
};

Result<DriverFunctions> load_driver()
{
    const Result<base::SharedLibrary> loaded = base::SharedLibrary::load("libcuda.so.1");
    HEARTH_TRY(loaded);
    DriverFunctions functions{};
    base::FunctionFinder library(*loaded);
    library.need(functions.init, "cuInit");
    library.need(functions.driver_version, "cuDriverGetVersion");
    library.need(functions.error_name, "cuGetErrorName");
    library.need(functions.current, "cuCtxGetCurrent");
    library.need(functions.device, "cuDeviceGet");
    library.need(functions.retain_primary, "cuDevicePrimaryCtxRetain");
    library.need(functions.release_primary, "cuDevicePrimaryCtxRelease_v2");
    library.need(functions.push, "cuCtxPushCurrent_v2");
    library.need(functions.pop, "cuCtxPopCurrent_v2");
    library.need(functions.create, "cuLinkCreate_v2");
    library.need(functions.add, "cuLinkAddData_v2");
    library.need(functions.complete, "cuLinkComplete");
    library.need(functions.destroy, "cuLinkDestroy");
    if (!library.missing().empty())
        return error(Code::unavailable, "The driver (libcuda.so.1) lacks {}. Install a newer one, or libnvJitLink.",
                     library.missing());
    return functions;
}

// A context that is current while this lives.
class CurrentContext {
public:
    explicit CurrentContext(const DriverFunctions& driver) : m_driver(driver)
    {
        Context context = nullptr;
        m_error = driver.init(0);
        if (m_error != k_driver_success || (driver.current(&context) == k_driver_success && context != nullptr))
            return;
        m_error = driver.device(&m_device, 0);
        if (m_error == k_driver_success)
            m_error = driver.retain_primary(&context, m_device);
        if (m_error != k_driver_success)
            return;
        m_error = driver.push(context);
        m_ours = m_error == k_driver_success;
        if (!m_ours)
            driver.release_primary(m_device);
    }
    ~CurrentContext()
    {
        Context ignored = nullptr;
        if (!m_ours)
            return;
        m_driver.pop(&ignored);
        m_driver.release_primary(m_device);
    }
    CurrentContext(const CurrentContext&) = delete;
    CurrentContext& operator=(const CurrentContext&) = delete;

    int error() const { return m_error; }

private:
    const DriverFunctions& m_driver;
    int m_device = 0;
    int m_error = 0;
    bool m_ours = false;
};

}  // namespace

std::string refusal_of_driver(const Job& job)
{
    if (job.input != Input::ptx)
        return "The driver's linker takes PTX alone, and this is LTO-IR. Install libnvJitLink, or compile without "
               "-dlto.";
    if (!target_number(job.target))
        return fmt::format("The driver's linker knows no target \"{}\". Name one such as \"sm_90\".", job.target);
    JitOptions ignored;
    for (const std::string& option : job.options)
        if (!translate(option, ignored))
            return fmt::format("The driver's linker knows no option \"{}\": it has -O0 to -O4, -g, -lineinfo, "
                               "-maxrregcount=N and -verbose. Leave it out, or install libnvJitLink.",
                               option);
    return {};
}

std::string why_not_kept(const Identity& identity)
{
    for (const auto& [path, build] :
         {std::pair(identity.path, identity.build), std::pair(identity.compiler, identity.its_build)}) {
        void* const loaded = path.empty() ? nullptr : ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (loaded == nullptr)
            return fmt::format("{} is not the driver's library that this process has loaded",
                               path.empty() ? "no file that was found" : path);
        const std::string in_memory = base::loaded_build_id(loaded);
        ::dlclose(loaded);
        if (in_memory != build)
            return fmt::format("{} was replaced after this process had loaded it", path);
    }
    return {};
}

Result<Artifact> link_with_driver(const Job& job)
{
    const Result<DriverFunctions> loaded = load_driver();
    HEARTH_TRY(loaded);
    const DriverFunctions& driver = *loaded;
    const CurrentContext context(driver);
    if (context.error() != k_driver_success)
        return error(Code::unavailable,
                     "The driver's linker needs a CUDA device, and there is none: {}. Install libnvJitLink, "
                     "which needs no device.",
                     driver.name_of(context.error()));

    std::string errors(k_log_size, '\0');
    std::string info(k_log_size, '\0');
    JitOptions options;
    options.add(k_error_log, errors.data());
    options.add(k_error_log_size, std::uint64_t{k_log_size});
    options.add(k_info_log, info.data());
    options.add(k_info_log_size, std::uint64_t{k_log_size});
    options.add(k_target, target_number(job.target).value_or(0));
    for (const std::string& option : job.options)
        translate(option, options);

    Artifact artifact;
    LinkState state = nullptr;
    artifact.status =
        driver.create(static_cast<unsigned>(options.names.size()), options.names.data(), options.values.data(), &state);
    const auto destroy = [&driver](void* doomed) { driver.destroy(doomed); };
    const std::unique_ptr<void, decltype(destroy)> owner(state, destroy);
    // PTX goes with its terminating zero.
    std::string text = job.text;
    if (!artifact.failed())
        artifact.status =
            driver.add(state, k_driver_input_ptx, text.data(), text.size() + 1, job.name.c_str(), 0, nullptr, nullptr);
    void* cubin = nullptr;
    std::size_t size = 0;
    if (!artifact.failed())
        artifact.status = driver.complete(state, &cubin, &size);

    const bool explained = errors.front() != '\0';
    std::string log = errors.substr(0, errors.find('\0')) + info.substr(0, info.find('\0'));
    if (artifact.failed() && !is_deterministic(artifact.status, explained))
        return Error{Code::io, fmt::format("The driver's linker failed: {}.", driver.name_of(artifact.status)),
                     std::move(log)};
    if (artifact.failed() && log.empty())
        log = driver.name_of(artifact.status) + "\n";
    if (!artifact.failed())
        artifact.sections.push_back({"cubin", Bytes::copy_of(ByteView(static_cast<const std::byte*>(cubin), size))});
    if (!log.empty())
        artifact.sections.push_back({"log", Bytes::copy_of(log)});
    int version = 0;
    driver.driver_version(&version);
    artifact.metadata.compiler = fmt::format("cuda driver {}.{}", version / 1000, version % 1000 / 10);
    return artifact;
}

}  // namespace hearth::ptx

#include "compilers/opencl/native_program.hpp"

#include "base/error.hpp"
#include "compilers/opencl/request.hpp"

#include <fmt/format.h>

namespace hearth::opencl {

namespace {

// The driver releases the program. The type is incomplete, so it cannot be deleted by mistake.
std::shared_ptr<_cl_program> owner_of(const std::shared_ptr<const ContextState>& context, cl_program id)
{
    if (id == nullptr)
        return nullptr;
    return {id, [context](cl_program doomed) {
                if (!context->is_lost())
                    context->api->release_program(doomed);
            }};
}

// Errors that depend only on source and options. Every other error may not happen the next time.
bool is_deterministic(cl_int result)
{
    return result == CL_BUILD_PROGRAM_FAILURE || result == CL_INVALID_BUILD_OPTIONS;
}

std::string compiler_of(const Device& device)
{
    return fmt::format("opencl {} {}", device.platform, device.driver_version);
}

std::string name_of(const Source& source)
{
    return source.name.empty() ? "The program" : fmt::format("Program \"{}\"", source.name);
}

Result<NativeProgram> create_from_source(const std::shared_ptr<const ContextState>& context, const Source& source)
{
    const cl::Api& api = *context->api;
    cl_int error = CL_SUCCESS;
    cl_program id = nullptr;
    if (!source.il.empty()) {
        if (api.create_program_with_il == nullptr)
            return hearth::error(Code::unavailable,
                                 "This libOpenCL is older than OpenCL 2.1 and takes no IL. Give OpenCL C.");
        id = api.create_program_with_il(context->context, source.il.data(), source.il.size(), &error);
    } else {
        const char* text = source.text.data();
        const std::size_t size = source.text.size();
        id = api.create_program_with_source(context->context, 1, &text, &size, &error);
    }
    if (id == nullptr)
        return failure(Code::io, name_of(source) + " could not be given to the driver",
                       source.il.empty() ? "clCreateProgramWithSource" : "clCreateProgramWithIL", error);
    return NativeProgram(context, id);
}

cl_int build_native(const std::shared_ptr<const ContextState>& context, const NativeProgram& program,
                    const Source& source)
{
    cl_device_id device = context->device_id();
    return context->api->build_program(program.id(), 1, &device, joined_options(source).c_str(), nullptr, nullptr);
}

}  // namespace

NativeProgram::NativeProgram(std::shared_ptr<const ContextState> context, cl_program id)
    : m_context(std::move(context)), m_program(owner_of(m_context, id))
{
}

Bytes NativeProgram::binary() const
{
    const cl::Api& api = *m_context->api;
    std::size_t size = 0;
    if (api.get_program_info(id(), CL_PROGRAM_DEVICES, 0, nullptr, &size) != CL_SUCCESS)
        return {};
    // The caller's context may have other devices too: there is a binary for each, in this order.
    std::vector<cl_device_id> devices(size / sizeof(cl_device_id));
    std::vector<std::size_t> sizes(devices.size());
    if (api.get_program_info(id(), CL_PROGRAM_DEVICES, size, static_cast<void*>(devices.data()), nullptr) !=
            CL_SUCCESS ||
        api.get_program_info(id(), CL_PROGRAM_BINARY_SIZES, sizes.size() * sizeof(std::size_t), sizes.data(),
                             nullptr) != CL_SUCCESS)
        return {};
    // All binaries are fetched: not every driver accepts a null pointer for one that is not wanted.
    std::vector<Bytes> binaries;
    std::vector<unsigned char*> places;
    binaries.reserve(sizes.size());
    places.reserve(sizes.size());
    for (const std::size_t each : sizes)
        binaries.push_back(Bytes::make(each, [&](std::span<std::byte> target) {
            places.push_back(reinterpret_cast<unsigned char*>(target.data()));
        }));
    if (api.get_program_info(id(), CL_PROGRAM_BINARIES, places.size() * sizeof(unsigned char*),
                             static_cast<void*>(places.data()), nullptr) != CL_SUCCESS)
        return {};
    for (std::size_t i = 0; i < devices.size(); ++i)
        if (devices[i] == m_context->device_id())
            return binaries[i];
    return {};
}

std::string NativeProgram::build_log() const
{
    const cl::Api& api = *m_context->api;
    std::size_t size = 0;
    if (api.get_program_build_info(id(), m_context->device_id(), CL_PROGRAM_BUILD_LOG, 0, nullptr, &size) !=
            CL_SUCCESS ||
        size == 0)
        return {};
    std::string log(size, '\0');
    if (api.get_program_build_info(id(), m_context->device_id(), CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr) !=
        CL_SUCCESS)
        return {};
    log.resize(log.find_last_not_of('\0') + 1);
    return log;
}

bool freezes_binary(const Device& device)
{
    return device.platform == "Portable Computing Language";
}

Bytes binary_of_another(const std::shared_ptr<const ContextState>& context, const Source& source)
{
    const Result<NativeProgram> another = create_from_source(context, source);
    return another && build_native(context, *another, source) == CL_SUCCESS ? another->binary() : Bytes{};
}

Result<Built> build_from_source(const std::shared_ptr<const ContextState>& context, const Source& source)
{
    Result<NativeProgram> made = create_from_source(context, source);
    HEARTH_TRY(made);
    Built built{*std::move(made), {}};
    Artifact& artifact = built.artifact;
    artifact.status = build_native(context, built.program, source);
    std::string log = built.program.build_log();
    if (artifact.failed() && !is_deterministic(artifact.status)) {
        Error failed = failure(Code::io, name_of(source) + " could not be built", "clBuildProgram", artifact.status);
        failed.log = std::move(log);
        return failed;
    }
    if (artifact.failed()) {
        built.program = {};
        if (log.empty())
            log = cl::error_name(artifact.status) + "\n";
    } else {
        // A second program costs a quarter of the first build, since the compiler is already loaded.
        Bytes binary = freezes_binary(context->device) ? binary_of_another(context, source) : Bytes{};
        artifact.sections.push_back({"binary", !binary.empty() ? std::move(binary) : built.program.binary()});
    }
    if (!log.empty())
        artifact.sections.push_back({"log", Bytes::copy_of(log)});
    artifact.metadata.label = source.name;
    artifact.metadata.compiler = compiler_of(context->device);
    artifact.metadata.target = context->device.name;
    artifact.metadata.options = source.options;
    return built;
}

Result<NativeProgram> load_binary(const std::shared_ptr<const ContextState>& context, ByteView binary,
                                  const std::string& options)
{
    const cl::Api& api = *context->api;
    cl_device_id device = context->device_id();
    const std::size_t size = binary.size();
    const auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
    const std::string doing = fmt::format("A stored binary of {} bytes was refused", size);
    cl_int state = CL_SUCCESS;
    cl_int error = CL_SUCCESS;
    cl_program id = api.create_program_with_binary(context->context, 1, &device, &size, &bytes, &state, &error);
    NativeProgram program(context, id);
    if (!program || error != CL_SUCCESS || state != CL_SUCCESS)
        return failure(Code::other_version, doing, "clCreateProgramWithBinary", error != CL_SUCCESS ? error : state);
    // OpenCL requires this for binaries too, though there is nothing left to compile.
    if (error = api.build_program(id, 1, &device, options.c_str(), nullptr, nullptr); error != CL_SUCCESS)
        return failure(Code::other_version, doing, "clBuildProgram", error);
    return program;
}

}  // namespace hearth::opencl

#include "compilers/ptx/stepped_link.hpp"

#include "base/digest.hpp"
#include "base/error.hpp"

#include <filesystem>

namespace hearth::ptx {

namespace {

constexpr int k_any_type = 10;

}  // namespace

SteppedLink::~SteppedLink()
{
    if (m_handle != nullptr)
        m_linker->destroy(&m_handle);
}

std::string SteppedLink::why_not_cached(const Call& call) const
{
    for (const std::string& option : call.options)
        if (tells_times(option))
            return k_why_times;
    if (call.kind == Kind::file && !call.data)
        return "a file cannot be read";
    if (call.kind == Kind::file && call.type == k_any_type)
        return "only nvJitLink knows what kind of input a file is whose kind is not told";
    return {};
}

Result<compilers::LoadedCompiler*> SteppedLink::load()
{
    if (!m_linker) {
        HEARTH_TRY_SET(m_linker, NvJitLink::load(path()));
    }
    return m_linker->compiler;
}

int SteppedLink::apply(const Call& call, bool again)
{
    const char* const name = call.name ? call.name->c_str() : nullptr;
    switch (call.kind) {
    case Kind::create:
        return m_linker->create_with(&m_handle, call.options);
    case Kind::file:
        // The file may have changed since it was added.
        if (!again)
            return m_linker->add_file(m_handle, call.type, name);
        [[fallthrough]];
    case Kind::data:
        return m_linker->add(m_handle, call.type, call.data ? call.data->data() : nullptr,
                             call.data ? call.data->size() : 0, name);
    case Kind::complete:
        return m_linker->complete(m_handle);
    default:
        return k_link_internal;
    }
}

Status SteppedLink::check(const Artifact& made, const watch::Conditions& conditions, const watch::Places& places) const
{
    const Call& call = calls().back();
    if (call.kind != Kind::file)
        return {};
    if (made.failed())
        return error(Code::unavailable, "nvJitLink refuses {}", *call.name);
    const base::Sha256 digest = base::sha256(as_bytes(*call.data));
    const std::string path = (std::filesystem::path(places.working_directory) / *call.name).string();
    for (const watch::Condition& condition : conditions.list)
        if (condition.kind == watch::Condition::Kind::content && condition.digest == digest &&
            condition.spot.path(places) == path)
            return {};
    return error(Code::unavailable, "{} changed while it was read", *call.name);
}

Artifact SteppedLink::failure(const std::string& log) const
{
    Artifact artifact;
    artifact.status = k_link_internal;
    for (std::size_t i = 0; i < k_link_sections.size(); ++i) {
        const bool is_log = i == NvJitLink::k_error_log || i == NvJitLink::k_info_log;
        artifact.sections.push_back({status_section(k_link_sections[i]),
                                     Bytes::copy_of(std::to_string(is_log ? k_link_success : k_link_internal))});
        if (i == NvJitLink::k_error_log)
            artifact.sections.push_back(
                {k_link_sections[i], Bytes::copy_of("hearth: " + log + std::string("\n\0", 2))});
    }
    return artifact;
}

}  // namespace hearth::ptx

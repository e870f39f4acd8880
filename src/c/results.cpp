// The results of hearth.h.

#include "c/results.hpp"

#include "base/error.hpp"

#include <chrono>
#include <iterator>
#include <limits>
#include <vector>

namespace hearth::c {

bool add(hearth_result& result, const char* const* names, const hearth_bytes* bytes, std::size_t count)
{
    std::vector<Section> added;
    for (std::size_t i = 0; i < count; ++i) {
        if (bytes[i].data == nullptr && bytes[i].size != 0)
            return false;
        const ByteView view(static_cast<const std::byte*>(bytes[i].data), bytes[i].size);
        added.push_back({text_of(names[i]), Bytes::copy_of(view)});
    }
    std::vector<Section>& sections = result.artifact.sections;
    sections.insert(sections.end(), std::make_move_iterator(added.begin()), std::make_move_iterator(added.end()));
    return true;
}

Result<Artifact> filled(hearth_compile compile, void* user)
{
    hearth_result result;
    const hearth_status status = call_back([&] { return compile(user, &result); });
    const bool is_empty = result.artifact.sections.empty() && result.artifact.status == 0;
    if (status == HEARTH_OK && !is_empty)
        return std::move(result.artifact);
    const Code code = status == HEARTH_OK ? Code::invalid_argument : code_of(status);
    if (!result.why.empty())
        return Error{code, std::move(result.why), {}};
    if (status == HEARTH_OK)
        return error(code, "The compile function has added no section, so nothing was compiled.");
    return error(code, "The compile function failed with status {} ({}).", status, hearth_status_name(status));
}

}  // namespace hearth::c

namespace {

using hearth::Code;
using hearth::c::fail;
using hearth::c::guarded;
using hearth::c::text_of;

}  // namespace

hearth_status hearth_result_add(hearth_result* result, const char* section, hearth_bytes bytes)
{
    return hearth_result_add_all(result, &section, &bytes, 1);
}

hearth_status hearth_result_add_all(hearth_result* result, const char* const* names, const hearth_bytes* bytes,
                                    size_t count)
{
    return guarded(nullptr, [&]() -> hearth_status {
        const bool has_lists = count == 0 || (names != nullptr && bytes != nullptr);
        if (result == nullptr || !has_lists || !hearth::c::add(*result, names, bytes, count))
            return fail(nullptr, Code::invalid_argument, hearth::c::k_no_section);
        return HEARTH_OK;
    });
}

hearth_status hearth_result_set_status(hearth_result* result, int32_t status)
{
    if (result == nullptr)
        return fail(nullptr, Code::invalid_argument, "There is no result to set the status of.");
    result->artifact.status = status;
    return HEARTH_OK;
}

hearth_status hearth_result_set_cost(hearth_result* result, uint64_t nanoseconds)
{
    if (result == nullptr || nanoseconds > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        return fail(nullptr, Code::invalid_argument, "There is no result, or its cost is above 2^63 - 1 nanoseconds.");
    result->artifact.cost = std::chrono::nanoseconds(static_cast<int64_t>(nanoseconds));
    return HEARTH_OK;
}

hearth_status hearth_result_describe(hearth_result* result, const char* label, const char* compiler, const char* target)
{
    return guarded(nullptr, [&]() -> hearth_status {
        if (result == nullptr)
            return fail(nullptr, Code::invalid_argument, "There is no result to describe.");
        hearth::Metadata& facts = result->artifact.metadata;
        facts.label = text_of(label);
        facts.compiler = text_of(compiler);
        facts.target = text_of(target);
        return HEARTH_OK;
    });
}

hearth_status hearth_result_explain(hearth_result* result, const char* message)
{
    return guarded(nullptr, [&]() -> hearth_status {
        if (result == nullptr || message == nullptr)
            return fail(nullptr, Code::invalid_argument, "There is no result, or no message.");
        result->why = message;
        return HEARTH_OK;
    });
}

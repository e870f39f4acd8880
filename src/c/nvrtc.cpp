// NVRTC by hearth.h.

#include "c/handles.hpp"

#include <vector>

namespace {

using hearth::Code;
using hearth::c::fail;
using hearth::c::guarded;
using hearth::nvrtc::Compiled;

std::string text_of(const char* text)
{
    return text != nullptr ? text : "";
}

std::vector<std::string> list_of(const char* const* items, size_t count)
{
    std::vector<std::string> list;
    for (size_t i = 0; items != nullptr && i < count; ++i)
        list.push_back(text_of(items[i]));
    return list;
}

hearth::nvrtc::Program program_of(const hearth_nvrtc_program& given)
{
    hearth::nvrtc::Program program;
    program.source = text_of(given.source);
    program.name = text_of(given.name);
    program.target = text_of(given.target);
    program.options = list_of(given.options, given.option_count);
    for (size_t i = 0; given.headers != nullptr && i < given.header_count; ++i)
        program.headers.push_back({text_of(given.headers[i].name), text_of(given.headers[i].content)});
    program.name_expressions = list_of(given.name_expressions, given.name_expression_count);
    return program;
}

int32_t outcome_of(hearth::Outcome outcome)
{
    switch (outcome) {
    case hearth::Outcome::hit:
        return HEARTH_HIT;
    case hearth::Outcome::waited:
        return HEARTH_WAITED;
    case hearth::Outcome::past_the_cache:
        return HEARTH_PAST_THE_CACHE;
    default:
        return HEARTH_COMPILED;
    }
}

}  // namespace

hearth_status hearth_nvrtc_compile(hearth_cache* cache, const hearth_nvrtc_program* program, hearth_lease** lease)
{
    return guarded(cache, [&]() -> hearth_status {
        if (cache == nullptr || lease == nullptr)
            return fail(cache, Code::invalid_argument, "A cache, a program and a place for the lease are needed.");
        *lease = nullptr;
        const hearth_nvrtc_program known = hearth::c::known_part(program);
        if (known.source == nullptr)
            return fail(cache, Code::invalid_argument, "The program has no source.");
        const hearth::nvrtc::Program wanted = program_of(known);
        const hearth::Result<Compiled> compiled =
            hearth::nvrtc::compile(cache->cache, wanted, {.library = text_of(known.library)});
        if (!compiled)
            return fail(cache, compiled.error());
        auto made = std::make_unique<hearth_lease>();
        made->shared = std::make_shared<const hearth::Artifact>(compiled->artifact());
        made->artifact = made->shared.get();
        made->outcome = outcome_of(compiled->outcome());
        made->reason = compiled->reason();
        made->tier = compiled->tier();
        made->log = compiled->log();
        for (const std::string& expression : wanted.name_expressions)
            if (auto name = compiled->lowered_name(expression))
                made->lowered_names.emplace(expression, *std::move(name));
        *lease = made.release();
        return HEARTH_OK;
    });
}

const char* hearth_nvrtc_log(const hearth_lease* lease)
{
    return lease != nullptr ? lease->log.c_str() : "";
}

const char* hearth_nvrtc_lowered_name(const hearth_lease* lease, const char* expression)
{
    if (lease == nullptr || expression == nullptr)
        return nullptr;
    const auto found = lease->lowered_names.find(std::string_view(expression));
    return found == lease->lowered_names.end() ? nullptr : found->second.c_str();
}

// NVRTC by hearth.h.

#include "c/telling.hpp"

#include <algorithm>
#include <vector>

namespace {

using hearth::Code;
using hearth::c::fail;
using hearth::c::guarded;
using hearth::c::text_of;
using hearth::nvrtc::Compiled;

// What was left out would compile something else.
bool has_all(const char* const* items, size_t count)
{
    return count == 0 ||
           (items != nullptr && std::none_of(items, items + count, [](const char* item) { return item == nullptr; }));
}

bool has_all(const hearth_nvrtc_header* headers, size_t count)
{
    return count == 0 || (headers != nullptr && std::none_of(headers, headers + count, [](const auto& header) {
                              return header.name == nullptr || header.content == nullptr;
                          }));
}

hearth::nvrtc::Program program_of(const hearth_nvrtc_program& given)
{
    hearth::nvrtc::Program program;
    program.source = text_of(given.source);
    program.name = text_of(given.name);
    program.target = text_of(given.target);
    program.options.assign(given.options, given.options + given.option_count);
    for (size_t i = 0; i < given.header_count; ++i)
        program.headers.push_back({given.headers[i].name, given.headers[i].content});
    program.name_expressions.assign(given.name_expressions, given.name_expressions + given.name_expression_count);
    return program;
}

// What NVRTC gave, without what Hearth keeps beside it to give the log and the names again.
hearth::Artifact outputs_of(hearth::Artifact artifact)
{
    std::erase_if(artifact.sections, [](const hearth::Section& section) {
        return section.name == "log" || section.name == "names" || section.name == "paths" ||
               section.name.starts_with("hearth.");
    });
    return artifact;
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
        const auto known = hearth::c::known_part(program);
        if (!known)
            return hearth::c::fail_without_size(cache);
        if (known->source == nullptr)
            return fail(cache, Code::invalid_argument, "The program has no source.");
        if (!has_all(known->options, known->option_count) || !has_all(known->headers, known->header_count) ||
            !has_all(known->name_expressions, known->name_expression_count))
            return fail(cache, Code::invalid_argument,
                        "An option, header or name expression is null, or there are fewer than their count says.");
        const hearth::nvrtc::Program wanted = program_of(*known);
        const hearth::c::Telling telling(*cache);
        const hearth::Result<Compiled> compiled =
            hearth::nvrtc::compile(cache->cache, wanted, {.library = text_of(known->library)});
        if (!compiled) {
            telling.failed({.label = wanted.name, .compiler = "nvrtc"}, compiled.error());
            return fail(cache, compiled.error());
        }
        telling.compiled("nvrtc", wanted.name, *compiled);
        auto made = std::make_unique<hearth_lease>();
        made->shared = std::make_shared<const hearth::Artifact>(outputs_of(compiled->artifact()));
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

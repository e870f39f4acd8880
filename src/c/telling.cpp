#include "c/telling.hpp"

#include "recipes/result.hpp"

namespace hearth::c {

namespace {

using Milliseconds = std::chrono::duration<double, std::milli>;

}  // namespace

void Telling::got(const Key& key, const Lookup& lookup) const
{
    if (const Recording* recording = m_cache.cache.recording())
        recipes::record_result(*recording, key, *lookup);
    if (m_cache.is_noting)
        note(run_log::event_of(lookup, key), lookup->metadata);
}

void Telling::put(const Key& key, const Artifact& artifact) const
{
    if (artifact.cost.count() == 0)
        return;
    if (const Recording* recording = m_cache.cache.recording())
        recipes::record_result(*recording, key, artifact);
    if (!m_cache.is_noting)
        return;
    const double cost = Milliseconds(artifact.cost).count();
    run_log::note({.what = run_log::what_of(artifact.metadata),
                   .name = artifact.metadata.label,
                   .outcome = "miss",
                   .key = key,
                   .bytes = artifact.size(),
                   .spent_ms = cost,
                   .cost_ms = cost});
}

void Telling::compiled(std::string_view compiler, const std::string& name, const CompileResult& result) const
{
    if (m_cache.is_noting)
        note(run_log::event_of(result), {.label = name, .compiler = std::string(compiler)});
}

void Telling::failed(const Metadata& metadata, const Error& error) const
{
    if (m_cache.is_noting && error.code == Code::compile_forbidden)
        note({.outcome = "forbidden"}, metadata);
}

void Telling::note(run_log::Event event, const Metadata& metadata) const
{
    event.what = run_log::what_of(metadata);
    event.name = metadata.label;
    event.spent_ms = Milliseconds(std::chrono::steady_clock::now() - m_start).count();
    run_log::note(event);
}

}  // namespace hearth::c

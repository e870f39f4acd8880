#include "compilers/common/loaded_compiler.hpp"

#include "base/elf.hpp"
#include "base/error.hpp"
#include "base/fork.hpp"
#include "base/of_process.hpp"

#include <fmt/format.h>
#include <map>
#include <memory>
#include <mutex>

namespace hearth::compilers {

namespace {

struct Loaded {
    base::ForkSafeMutex mutex{base::LockLevel::engine};
    std::map<std::string, std::unique_ptr<LoadedCompiler>, std::less<>> by_path;
};

}  // namespace

LoadedCompiler* LoadedCompiler::find(const std::string& path)
{
    auto& all = base::of_process<Loaded>();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_path.find(path);
    return found == all.by_path.end() ? nullptr : found->second.get();
}

Result<LoadedCompiler*> LoadedCompiler::load(const std::string& path)
{
    if (LoadedCompiler* const known = find(path))
        return known;
    Environment environment = environment_now();
    HEARTH_TRY_SET(const base::SharedLibrary library, base::SharedLibrary::load(path));
    std::unique_ptr<LoadedCompiler> made(new LoadedCompiler(path, library));
    made->m_build = base::loaded_build_id(library.handle());
    made->m_environment = std::move(environment);
    if (const Result<const watch::WatchedLibrary*> watched = watch::WatchedLibrary::watch(library.handle()))
        made->m_watched = *watched;
    else
        made->m_why_not_watched = watched.error().message;
    // Of two threads that load it at once, both watch one image: the first one's is kept.
    auto& all = base::of_process<Loaded>();
    const std::lock_guard lock(all.mutex);
    return all.by_path.emplace(path, std::move(made)).first->second.get();
}

std::string LoadedCompiler::why_not_kept(const std::string& build) const
{
    if (m_watched == nullptr)
        return fmt::format("what {} reads cannot be watched: {}", m_path, m_why_not_watched);
    if (!m_watched->is_watched())
        return fmt::format("another library has taken over the calls of {}", m_path);
    if (m_build != build)
        return fmt::format("{} was replaced after this process had loaded it", m_path);
    return {};
}

std::vector<std::string> environment_of(Cache& cache, const std::string& path,
                                        const std::optional<watch::FileIdentity>& file)
{
    const LoadedCompiler* const loaded = LoadedCompiler::find(path);
    return asked_at_load(cache, path, file, loaded != nullptr ? loaded->environment() : environment_now());
}

std::uint64_t float_mode()
{
    std::uint64_t mode = 0;
#if defined(__x86_64__)
    std::uint32_t control = 0;
    asm volatile("stmxcsr %0" : "=m"(control));
    mode = control & ~std::uint32_t{0x3f};  // without what has happened so far
#elif defined(__aarch64__)
    asm volatile("mrs %0, fpcr" : "=r"(mode));
#endif
    return mode;
}

Result<Watched> compile_watched(LoadedCompiler& compiler, const AskedOf& asked,
                                const std::function<Result<Artifact>()>& compile, const DependsOn& depends_on)
{
    if (!asked.is_kept) {
        HEARTH_TRY_SET(Artifact made, compile());
        return Watched{std::move(made), watch::Conditions{}};
    }
    std::string why_not = compiler.why_not_kept(asked.build);
    if (why_not.empty() && float_mode() != asked.float_mode)
        why_not = "it was asked for by a thread with another floating-point mode than that of the one that compiles";
    if (!why_not.empty()) {
        HEARTH_TRY_SET(Artifact made, compile());
        return Watched{std::move(made), error(Code::unavailable, "{}", why_not)};
    }
    watch::Recording recording;
    Result<Artifact> made = compile();
    const watch::EventLog& log = recording.finish();
    HEARTH_TRY(made);
    Result<watch::Conditions> conditions = depends_on(log, *made);
    if (conditions)
        compiler.asked_variables().complete(*conditions);
    return Watched{*std::move(made), std::move(conditions)};
}

}  // namespace hearth::compilers

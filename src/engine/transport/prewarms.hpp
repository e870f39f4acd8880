#pragma once

#include "base/fork.hpp"
#include "engine/options.hpp"
#include "engine/stack/stack.hpp"
#include "hearth/prewarm.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace hearth::engine {

// What is to be brought into a tier: the entries of another tier, or those used most, or these keys.
struct PrewarmPlan {
    std::vector<Key> keys{};
    std::optional<TierSpec> source{};
    std::size_t hottest = 0;
    PrewarmOptions options{};
};

// The prewarmings of a cache. Their handles own them; closing the cache stops them all.
// Thread safety: all of it.
class Prewarms {
public:
    Prewarms(const EngineOptions& options, Stack& stack) : m_options(options), m_stack(stack) {}
    ~Prewarms();
    Prewarms(const Prewarms&) = delete;
    Prewarms& operator=(const Prewarms&) = delete;

    Prewarm start(PrewarmPlan plan);

private:
    const EngineOptions& m_options;
    Stack& m_stack;
    base::ForkSafeMutex m_mutex{base::LockLevel::engine};
    std::vector<std::weak_ptr<PrewarmJob>> m_jobs;
};

}  // namespace hearth::engine

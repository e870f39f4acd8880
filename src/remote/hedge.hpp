#pragma once

#include "base/workers.hpp"
#include "hearth/bytes.hpp"
#include "hearth/result.hpp"
#include "remote/remote_store.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace hearth::remotes {

// A request that has had no answer for a while is sent a second time; the first good answer counts.
// Threads are started when they are first needed. Thread safety: all of it but after_fork().
class Hedge {
public:
    using Answer = Result<std::optional<Bytes>>;
    using Ask = std::function<Answer()>;  // must end by itself at its own deadline

    Answer first_of_two(const Ask& ask, std::chrono::milliseconds after);
    // Afterwards no request is under way, and none is sent any more.
    void stop() { m_threads->stop(); }
    // In a forked child: the threads are the parent's.
    void after_fork() noexcept;

private:
    static constexpr std::size_t k_most_threads = 16;

    std::unique_ptr<base::Workers> m_threads = std::make_unique<base::Workers>(k_most_threads);
};

}  // namespace hearth::remotes

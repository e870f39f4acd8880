#pragma once

#include "hearth/api.hpp"
#include "hearth/log.hpp"
#include "hearth/result.hpp"
#include "hearth/switch.hpp"

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>

namespace hearth {

struct OperatorOptions {
    Switch fast = Switch::on;        // HEARTH_DISABLE in the environment switches it off all the same
    std::uint32_t max_failures = 3;  // in a row; then the original alone is called, until retry(). 0: never give up
    LogSink log{};                   // is told of the first failure
};

struct OperatorStats {
    std::uint64_t fast = 0;      // calls that the fast version completed
    std::uint64_t original = 0;  // calls that the original completed
    std::uint64_t failures = 0;  // of the fast version; each time the original was called instead
};

namespace detail {

// HEARTH_DISABLE, read as the configuration reads it.
HEARTH_API bool disabled_by_environment();

}  // namespace detail

template <class Signature>
class Operator;

// An operation with a fast version, which compiles and launches a kernel and can fail, and the original, which cannot.
// If the fast one is switched off or fails, the original is called with the same arguments: the caller never knows.
// The fast one must fail before it has changed anything that the original would then see.
//   hearth::Operator<void(int, float, const float*, float*)> saxpy("saxpy", with_kernel, on_the_host);
// Thread safety: as safe as both functions are. Exceptions of the fast version count as failures; those of the original
// are the caller's.
template <class R, class... Arguments>
class Operator<R(Arguments...)> {
public:
    using Fast = std::function<Result<R>(Arguments...)>;
    using Original = std::function<R(Arguments...)>;

    Operator(std::string name, Fast fast, Original original, OperatorOptions options = {})
        : m_name(std::move(name)), m_fast(std::move(fast)), m_original(std::move(original)),
          m_options(std::move(options)), m_enabled(m_options.fast == Switch::on && !detail::disabled_by_environment())
    {
    }
    Operator(const Operator&) = delete;
    Operator& operator=(const Operator&) = delete;

    R operator()(Arguments... arguments)
    {
        if (enabled()) {
            Result<R> done = try_fast(arguments...);
            if (done.ok()) {
                m_fast_calls.fetch_add(1, std::memory_order_relaxed);
                m_in_a_row.store(0, std::memory_order_relaxed);
                if constexpr (std::is_void_v<R>)
                    return;
                else
                    return std::move(done).value();
            }
            note(done.error());
        }
        m_original_calls.fetch_add(1, std::memory_order_relaxed);
        return m_original(std::forward<Arguments>(arguments)...);
    }

    bool enabled() const noexcept
    {
        return m_enabled.load(std::memory_order_relaxed) &&
               (m_options.max_failures == 0 || m_in_a_row.load(std::memory_order_relaxed) < m_options.max_failures);
    }
    void set_enabled(bool enabled) noexcept { m_enabled.store(enabled, std::memory_order_relaxed); }
    // Forgets the failures that made it give up.
    void retry() noexcept { m_in_a_row.store(0, std::memory_order_relaxed); }

    // Counts are exact; no order among them is promised while calls are under way.
    OperatorStats stats() const noexcept
    {
        return {m_fast_calls.load(std::memory_order_relaxed), m_original_calls.load(std::memory_order_relaxed),
                m_failures.load(std::memory_order_relaxed)};
    }

private:
    Result<R> try_fast(Arguments&... arguments)
    {
        try {
            return m_fast(arguments...);
        } catch (const std::exception& error) {
            return Error{Code::compile_failed, error.what(), {}};
        } catch (...) {
            return Error{Code::compile_failed, "It threw something that is no std::exception.", {}};
        }
    }

    void note(const Error& error)
    {
        m_in_a_row.fetch_add(1, std::memory_order_relaxed);
        if (m_failures.fetch_add(1, std::memory_order_relaxed) == 0 && m_options.log)
            m_options.log(LogLevel::warning,
                          "Operator \"" + m_name + "\" falls back to its original: " + error.message);
    }

    const std::string m_name;
    const Fast m_fast;
    const Original m_original;
    const OperatorOptions m_options;
    // relaxed throughout: these are switches and counts, and no other data is read because of them.
    std::atomic<bool> m_enabled;
    std::atomic<std::uint32_t> m_in_a_row{0};
    std::atomic<std::uint64_t> m_fast_calls{0};
    std::atomic<std::uint64_t> m_original_calls{0};
    std::atomic<std::uint64_t> m_failures{0};
};

}  // namespace hearth

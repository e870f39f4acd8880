#pragma once

#include "base/fork.hpp"
#include "modules/variants/launch_timer.hpp"
#include "modules/variants/machine.hpp"
#include "modules/variants/tuner.hpp"

#include <future>

// What a Tuner keeps of one class of launches: for the files of Tuner itself.

namespace hearth::cuda {

// Whether another process would fail the same way.
inline bool is_lasting(Code code)
{
    return code == Code::compile_failed || code == Code::not_found || code == Code::other_version ||
           code == Code::invalid_argument;
}

struct Tuner::Candidate {
    MeasuredVariant told;                // what is known of it
    const Relaunch* relaunch = nullptr;  // of the program's own declaration
    Function loaded{};                   // null: not yet, or dropped
    bool lasting_reason = true;          // it would be dropped again by the next process

    void drop(std::string why, bool lasting)
    {
        told.state = VariantState::dropped;
        told.why = std::move(why);
        lasting_reason = lasting;
    }
};

// Until a class is settled.
struct Tuner::Measuring {
    Rounds rounds;
    LaunchTimer timer;
};

struct Tuner::Class {
    Class(const gpu::CudaDriver& its_driver, const gpu::CudaContext& its_context, Shape its_shape,
          const Variants& variants)
        : driver(its_driver), context(its_context), shape(std::move(its_shape)),
          measuring(new Measuring{Rounds(variants.others.size() + 1, variants.least_gain),
                                  LaunchTimer(its_driver, its_context)})
    {
    }

    const gpu::CudaDriver& driver;
    const gpu::CudaContext context;
    const Shape shape;
    std::string text;                    // of the shape
    std::vector<std::string> constants;  // "-DN=4096", by m_constants; empty: it is missing
    Machine machine;
    Class* next = nullptr;

    // Points into `candidates`. Once set, it changes only to the first, if the driver will not launch what it was.
    std::atomic<const Candidate*> settled{nullptr};
    std::atomic<std::uint64_t> launches{0};
    std::atomic<bool> ready{false};   // everything is compiled, or dropped
    std::atomic<bool> timing{false};  // a thread is about to time its launch: the others' run as asked
    std::promise<void> looked_up;     // the record, and its winner loaded

    // For what follows, but not for a `loaded` once it is settled or the first's. While it is held, nothing of the
    // program's is called, nothing of the cache's, and nothing goes that has locks of its own.
    mutable base::ForkSafeMutex mutex{base::LockLevel::engine};
    std::vector<Candidate> candidates;     // the first, then as declared
    std::unique_ptr<Measuring> measuring;  // null: it is settled
    std::size_t winner = 0;
    std::uint64_t settled_after = 0;
    std::optional<VariantRecord> to_store;
    std::chrono::nanoseconds cost{0};  // of finding out
};

// What goes when a class is settled, when its lock is no longer held.
struct Tuner::LetGo {
    std::vector<Function> functions;
    std::unique_ptr<Measuring> measuring;
};

}  // namespace hearth::cuda

#pragma once

#include "hearth/variants.hpp"
#include "modules/loaded_function.hpp"
#include "modules/variants/rounds.hpp"
#include "modules/variants/shape.hpp"

#include <memory>
#include <mutex>
#include <optional>

namespace hearth::cuda {

// Finds the best variant of one kernel while it is launched, for each class of launches by itself:
//
//   first launch      its record is looked up in the cache, in the background. If there is one, its winner is loaded
//                     and runs from then on; the launch waits some milliseconds for that, and runs as the program asks
//                     if they were not enough
//   launch N          the variants are compiled and loaded, in the background
//   when they are     every launch is a timed turn of one candidate (Rounds), until that is settled
//   settled           the winner runs, and the record is stored
//
// Inside a stream capture the first runs, or what is settled. Once a launch was captured, nothing is measured any more:
// a graph that holds the kernel may be running beside the launches that would be timed.
// Thread safety: all of it; of several launches of a class at once, one is timed. Ownership: the cache outlives it. Its
// destructor waits for what is being compiled or loaded for it, which is one variant at most.
// Cost: once settled, the class of a launch is looked up, with no lock and nothing written; and until one was captured,
// the driver is asked whether this one is.
class Tuner {
public:
    using Function = std::shared_ptr<const LoadedFunction>;
    // The kernel as the program has it, in the current context.
    using GetFirst = std::function<Result<Function>()>;

    Tuner(Cache& cache, nvrtc::Program program, std::string name, Variants variants, nvrtc::CompileOptions options);
    ~Tuner();
    Tuner(const Tuner&) = delete;
    Tuner& operator=(const Tuner&) = delete;

    // In the current context.
    Status launch(const gpu::CudaDriver& driver, const GetFirst& get_first, const LaunchConfig& asked,
                  std::span<const Argument> arguments);
    std::vector<VariantRecord> records() const;

private:
    struct Candidate;
    struct Measuring;
    struct Class;
    struct LetGo;

    Class* find(std::uint64_t context, const Shape& shape) const noexcept;
    Class* add(const gpu::CudaDriver& driver, const Shape& shape, const Function& first,
               std::span<const Argument> arguments);
    std::string mistake_in(const Variant& variant, const Class& one) const;
    // In the background:
    void start_with_record(Class& one);
    std::optional<VariantRecord> known_record(const VariantRecord& asked);
    void take_over(Class& one, const VariantRecord& found, std::size_t winner, Result<Function> loaded, LetGo& let_go);
    void compile(Class& one, std::size_t candidate);
    void store(Class& one);
    Result<Function> load(const Class& one, std::size_t candidate) const;

    bool is_outside_captures(const gpu::CudaDriver& driver, Stream stream);
    Status launch_unsettled(Class& one, const LaunchConfig& asked, std::span<const Argument> arguments);
    std::optional<Rounds::Turn> next_turn(Class& one);
    Status launch_timed(Class& one, const LaunchConfig& asked, std::span<const Argument> arguments);
    Status launch_settled(Class& one, const Candidate& chosen, const LaunchConfig& asked,
                          std::span<const Argument> arguments);
    void settle(Class& one, std::size_t winner, LetGo& let_go);
    VariantRecord record_of(const Class& one) const;

    Cache* const m_cache;
    const nvrtc::Program m_program;
    const std::string m_name;
    const Variants m_variants;
    const nvrtc::CompileOptions m_options;
    const std::vector<Constant> m_constants;
    const std::uint32_t m_after;  // launches of a class; 0: nothing is ever measured
    std::atomic<bool> m_captured{false};

    // A list that only grows, so that a launch reads it without a lock.
    std::atomic<Class*> m_classes{nullptr};
    mutable std::mutex m_adding;
};

}  // namespace hearth::cuda

#include "trace/replay.hpp"

#include "trace/s3_fifo_policy.hpp"

#include <cstring>
#include <memory>

namespace hearth::bench {

namespace {

Key key_of(std::uint32_t kernel)
{
    Key key;
    std::memcpy(key.digest.data(), &kernel, sizeof kernel);
    return key;
}

std::uint32_t kernel_of(const Resident& entry)
{
    std::uint32_t kernel = 0;
    std::memcpy(&kernel, entry.key.digest.data(), sizeof kernel);
    return kernel;
}

std::unique_ptr<Policy> make_policy(const std::string& name, std::uint64_t capacity)
{
    if (name == "s3-fifo")
        return std::make_unique<S3FifoPolicy>(capacity);
    return name == "lru" ? lru()() : gdsf()();
}

}  // namespace

std::uint64_t total_bytes(const Trace& trace)
{
    std::uint64_t total = 0;
    for (const Kernel& kernel : trace.kernels)
        total += kernel.bytes;
    return total;
}

double percent_lost(const Trace& trace, std::uint64_t capacity, Policy& policy)
{
    std::vector<std::unique_ptr<Resident>> residents(trace.kernels.size());
    std::uint64_t used = 0;
    std::uint64_t tick = 0;
    double asked = 0;
    double lost = 0;
    for (const std::uint32_t index : trace.requests) {
        const Kernel& kernel = trace.kernels[index];
        std::unique_ptr<Resident>& resident = residents[index];
        asked += kernel.seconds;
        if (resident) {
            resident->bump();
            resident->set_last_used(++tick);
            if (policy.touches() == Policy::Touches::each)
                policy.touched(*resident);
            continue;
        }
        lost += kernel.seconds;
        if (kernel.bytes > capacity)
            continue;
        while (used + kernel.bytes > capacity) {
            const Resident* const victim = policy.victim();
            used -= victim->bytes;
            policy.removed(*victim);
            residents[kernel_of(*victim)].reset();
        }
        resident = std::make_unique<Resident>(key_of(index), kernel.bytes, kernel.seconds);
        resident->set_last_used(++tick);
        policy.inserted(*resident);
        used += kernel.bytes;
    }
    return 100 * lost / asked;
}

TraceOptions trace_options(Variant variant, std::uint64_t seed)
{
    return TraceOptions{.seed = seed, .cost_spread = variant == Variant::loose ? 0.55 : 0.15};
}

std::vector<TraceRow> replay(const std::string& variant, const std::vector<Trace>& traces)
{
    std::vector<TraceRow> rows;
    for (const char* const policy : {"lru", "s3-fifo", "gdsf"}) {
        for (const double share : {0.05, 0.20}) {
            TraceRow& row = rows.emplace_back(TraceRow{policy, variant, share, 0});
            for (const Trace& trace : traces) {
                const auto capacity = static_cast<std::uint64_t>(share * static_cast<double>(total_bytes(trace)));
                row.percent_lost += percent_lost(trace, capacity, *make_policy(policy, capacity));
            }
            row.percent_lost /= static_cast<double>(traces.size());
        }
    }
    return rows;
}

std::vector<TraceRow> replay_made_up(std::uint32_t traces)
{
    std::vector<TraceRow> rows;
    for (const Variant variant : {Variant::loose, Variant::close}) {
        std::vector<Trace> made;
        for (std::uint32_t seed = 1; seed <= traces; ++seed)
            made.push_back(make_trace(trace_options(variant, seed)));
        for (TraceRow& row : replay(variant == Variant::loose ? "loose" : "close", made))
            rows.push_back(std::move(row));
    }
    return rows;
}

std::map<std::string, Trace> recorded_traces()
{
    return read_traces(HEARTH_RECORDED_TRACES);
}

double percent_of_first_compiles(const Trace& trace)
{
    double asked = 0;
    for (const std::uint32_t index : trace.requests)
        asked += trace.kernels[index].seconds;
    double first = 0;
    for (const Kernel& kernel : trace.kernels)
        first += kernel.seconds;
    return 100 * first / asked;
}

}  // namespace hearth::bench

// A program that keeps its own buffers within a budget of device memory. What does not fit is spilled to host memory,
// and comes back when it is used. Which ones, and when, a hearth::Ledger says; every byte of them is the program's.

#include "device_memory.hpp"
#include "hearth/ledger.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <string>
#include <vector>

namespace {

using namespace hearth::literals;
using hearth::ledger::Handle;

enum Tier : std::size_t { k_device, k_host };
constexpr std::size_t k_layers = 10;
constexpr std::size_t k_bytes = 4_MiB;  // of a layer's weights

hearth::Key key_of(std::size_t layer)
{
    return hearth::Key::of("weights", layer);
}

// The weights of a layer: made once, and then to be found unchanged wherever they are.
std::vector<std::uint32_t> weights_of(std::size_t layer)
{
    std::vector<std::uint32_t> weights(k_bytes / sizeof(std::uint32_t));
    for (std::size_t i = 0; i < weights.size(); ++i)
        weights[i] = static_cast<std::uint32_t>(i * 2654435761U + layer);
    return weights;
}

class Model {
public:
    Model()
    {
        for (std::size_t layer = 0; layer < k_layers; ++layer)
            m_names[key_of(layer)] = fmt::format("layer {}", layer);
        fmt::print("device: {}\n", m_device.name());
    }
    ~Model()
    {
        m_ledger.for_each([&](const hearth::ledger::Holding& holding) { return free(holding.tier, holding.handle); });
    }
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // The buffer is allocated once there is room for it: the device never holds more than its budget.
    hearth::Status load(std::size_t layer)
    {
        fmt::print("load layer {}\n", layer);
        const auto added = m_ledger.add(key_of(layer), {.bytes = k_bytes}, [&]() -> hearth::Result<Handle> {
            return allocate(k_device, weights_of(layer).data(), k_bytes);
        });
        return added ? hearth::Status{} : added.error();
    }

    // While the lease is held, the weights stay where they are.
    bool use(std::size_t layer)
    {
        const hearth::ledger::Lease lease = m_ledger.lease(key_of(layer));
        if (!lease)
            return false;
        std::vector<std::uint32_t> found(lease.bytes() / sizeof(std::uint32_t));
        const bool read = copy_out(found.data(), lease.tier(), lease.handle(), lease.bytes());
        fmt::print("use  layer {} on the {}\n", layer, lease.tier() == k_device ? "device" : "host");
        return read && found == weights_of(layer);
    }

    void report() const
    {
        const std::vector<hearth::TierUsage> used = m_ledger.usage();
        for (const auto& [tier, name] : {std::pair{k_device, "device"}, std::pair{k_host, "host"}})
            fmt::print("{:6}: {} of {} MiB, {} buffers\n", name, used[tier].bytes / 1_MiB,
                       m_ledger.limits(tier).max_bytes / 1_MiB, used[tier].entries);
        const hearth::ledger::Stats stats = m_ledger.stats();
        fmt::print("{} demotions, {} promotions, {} evictions\n", stats.demotions, stats.promotions, stats.evictions);
    }

    // Another program wants some of the device.
    hearth::Status shrink(std::uint64_t bytes)
    {
        fmt::print("the device's budget is {} MiB now\n", bytes / 1_MiB);
        return m_ledger.set_limits(k_device, {.max_bytes = bytes});
    }

private:
    // The ledger asks for this before it counts the move as done.
    hearth::Result<Handle> move(const hearth::ledger::Move& move)
    {
        fmt::print("  {} {} -> {}\n", m_names[move.key], move.from == k_device ? "device" : "host",
                   move.evicts()          ? "freed"
                   : *move.to == k_device ? "device"
                                          : "host");
        if (move.evicts()) {
            free(move.from, move.handle);
            return Handle{0};
        }
        std::vector<char> bytes(move.bytes);
        if (!copy_out(bytes.data(), move.from, move.handle, move.bytes))
            return hearth::Error{hearth::Code::io, "The buffer cannot be read.", {}};
        hearth::Result<Handle> moved = allocate(*move.to, bytes.data(), move.bytes);
        if (moved)
            free(move.from, move.handle);
        return moved;
    }

    hearth::Result<Handle> allocate(std::size_t tier, const void* from, std::size_t bytes)
    {
        if (tier == k_host) {
            void* const memory = std::malloc(bytes);
            if (!memory)
                return hearth::Error{hearth::Code::no_memory, "There is no host memory left.", {}};
            return reinterpret_cast<Handle>(std::memcpy(memory, from, bytes));
        }
        const std::uint64_t address = m_device.allocate(bytes);
        if (address == 0)
            return hearth::Error{hearth::Code::no_memory, "There is no device memory left.", {}};
        if (m_device.write(address, from, bytes))
            return address;
        m_device.free(address);
        return hearth::Error{hearth::Code::io, "The device cannot be written.", {}};
    }

    bool copy_out(void* to, std::size_t tier, Handle handle, std::size_t bytes)
    {
        if (tier == k_device)
            return m_device.read(to, handle, bytes);
        std::memcpy(to, reinterpret_cast<const void*>(handle), bytes);  // NOLINT(performance-no-int-to-ptr)
        return true;
    }

    bool free(std::size_t tier, Handle handle)
    {
        if (tier == k_device)
            m_device.free(handle);
        else
            std::free(reinterpret_cast<void*>(handle));  // NOLINT(performance-no-int-to-ptr)
        return true;
    }

    DeviceMemory m_device;
    std::map<hearth::Key, std::string> m_names;
    hearth::Ledger m_ledger = hearth::Ledger::open({.tiers = {{"device", 4 * k_bytes}, {"host", 8 * k_bytes}},
                                                    .move = [this](const auto& move) { return this->move(move); }})
                                  .value();
};

}  // namespace

int main()
{
    Model model;
    bool right = true;
    const auto check = [&](const hearth::Status& status) {
        if (!status)
            fmt::print("{}\n", status.error().message);
        right = right && status.ok();
    };
    for (std::size_t layer = 0; layer < k_layers; ++layer)
        check(model.load(layer));
    // The third use of a spilled buffer brings it back.
    for (int use = 0; use < 3; ++use)
        right = model.use(0) && model.use(9) && right;
    check(model.shrink(2 * k_bytes));
    for (std::size_t layer = 0; layer < k_layers; ++layer)
        right = model.use(layer) && right;
    model.report();
    fmt::print("{}\n", right ? "Every buffer had what was written into it" : "WRONG");
    return right ? 0 : 1;
}

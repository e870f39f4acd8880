// A fleet that starts at once, simulated: nodes that want the same kernels, servers that answer one request after the
// other, and what a lease in the store, the order of the kernels and an outage change. Virtual time; no network.
//
//   hearth_fleet_simulation [--nodes N] [--kernels N] [--shards N] [--window S] [--seed N]
//
// What a node does for a kernel is what the engine does: ask the store; on a miss take the lease; compile, send, let
// go; or wait for the holder, asking again after 5 ms, then twice as long, 250 ms at most; after a minute compile all
// the same. A server that is down costs a node one deadline, then nothing until the breaker's pause is over.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <queue>
#include <random>
#include <string>
#include <vector>

namespace {

using Ns = std::int64_t;
constexpr Ns k_us = 1000;
constexpr Ns k_ms = 1000 * k_us;
constexpr Ns k_s = 1000 * k_ms;

// Measured with `make bench` (docs/benchmarks.md): what one request costs a server, and a compile a node.
struct Costs {
    Ns request = 8 * k_us;      // of a redis-server's one thread, without the bytes
    double bytes_per_ns = 3.5;  // what it sends
    Ns network = 100 * k_us;    // there and back
    Ns first_pause = 5 * k_ms;
    Ns longest_pause = 500 * k_ms;
    Ns lease_wait = 60 * k_s;
    Ns lease_time = 15 * k_s;
    Ns deadline = 500 * k_ms;
    Ns breaker_first = 1 * k_s;
    Ns breaker_longest = 30 * k_s;
};

struct Kernel {
    Ns compile = 0;
    std::uint32_t bytes = 0;
};

enum class Order : std::uint8_t { same, shuffled };

struct Scenario {
    const char* name;
    bool lease;
    Order order;
    Ns outage_from = 0;
    Ns outage_until = 0;
};

struct Outcome {
    std::uint64_t compiles = 0;
    std::uint64_t requests = 0;
    std::uint64_t bytes = 0;
    Ns median_ready = 0;
    Ns last_ready = 0;
    double compile_hours = 0;
    double busiest_shard = 0;  // share of the time it worked
};

class Simulation {
public:
    Simulation(std::size_t nodes, std::vector<Kernel> kernels, std::size_t shards, Ns window, const Scenario& scenario,
               std::uint64_t seed)
        : m_kernels(std::move(kernels)), m_scenario(scenario), m_shards(shards), m_stored(m_kernels.size(), -1),
          m_lease_until(m_kernels.size(), -1), m_free_at(shards), m_worked(shards), m_nodes(nodes)
    {
        std::mt19937_64 random(seed);
        for (std::size_t n = 0; n < nodes; ++n) {
            Node& node = m_nodes[n];
            node.start = static_cast<Ns>(random() % static_cast<std::uint64_t>(window));
            // A step that visits every kernel: an order of its own, without keeping one.
            node.first = m_scenario.order == Order::same ? 0 : random() % m_kernels.size();
            node.step = 1;
            if (m_scenario.order == Order::shuffled)
                do
                    node.step = 1 + random() % (m_kernels.size() - 1);
                while (std::gcd(node.step, m_kernels.size()) != 1);
            wake(node.start, n);
        }
    }

    Outcome run()
    {
        while (!m_events.empty()) {
            const Event event = m_events.top();
            m_events.pop();
            go_on(event.at, event.node);
        }
        std::vector<Ns> ready;
        for (const Node& node : m_nodes)
            ready.push_back(node.ready - node.start);
        std::sort(ready.begin(), ready.end());
        m_outcome.median_ready = ready[ready.size() / 2];
        m_outcome.last_ready = ready.back();
        for (std::size_t s = 0; s < m_shards; ++s)
            m_outcome.busiest_shard =
                std::max(m_outcome.busiest_shard, static_cast<double>(m_worked[s]) / static_cast<double>(m_end));
        return m_outcome;
    }

private:
    enum class Doing : std::uint8_t { asking, compiling, waiting };
    struct Node {
        Ns start = 0;
        Ns ready = 0;
        std::size_t first = 0;
        std::size_t step = 1;
        std::size_t done = 0;
        Doing doing = Doing::asking;
        Ns pause = 0;
        Ns waits_since = 0;
        std::uint32_t polls = 0;
        Ns down_until = 0;
        Ns breaker_pause = 0;
        bool holds = false;
    };
    struct Event {
        Ns at;
        std::size_t node;
        friend bool operator>(const Event& a, const Event& b) { return a.at > b.at; }
    };

    void wake(Ns at, std::size_t node) { m_events.push({at, node}); }

    // When the answer is back; -1: the server is down, and the deadline passed.
    Ns ask(Ns now, Node& node, std::size_t kernel, std::uint64_t bytes)
    {
        if (now < node.down_until)
            return -2;  // left alone: costs nothing
        ++m_outcome.requests;
        if (now >= m_scenario.outage_from && now < m_scenario.outage_until) {
            node.breaker_pause = node.breaker_pause == 0 ? m_costs.breaker_first
                                                         : std::min(2 * node.breaker_pause, m_costs.breaker_longest);
            node.down_until = now + m_costs.deadline + node.breaker_pause;
            return -1;
        }
        node.breaker_pause = 0;
        const std::size_t shard = kernel % m_shards;
        const Ns work = m_costs.request + static_cast<Ns>(static_cast<double>(bytes) / m_costs.bytes_per_ns);
        m_free_at[shard] = std::max(m_free_at[shard], now + m_costs.network / 2) + work;
        m_worked[shard] += work;
        m_outcome.bytes += bytes;
        return m_free_at[shard] + m_costs.network / 2;
    }

    void compile(Ns now, std::size_t n, std::size_t kernel)
    {
        ++m_outcome.compiles;
        m_outcome.compile_hours += static_cast<double>(m_kernels[kernel].compile) / static_cast<double>(3600 * k_s);
        m_nodes[n].doing = Doing::compiling;
        wake(now + m_kernels[kernel].compile, n);
    }

    void next(Ns now, std::size_t n)
    {
        Node& node = m_nodes[n];
        node.doing = Doing::asking;
        node.pause = 0;
        m_end = std::max(m_end, now);
        if (++node.done == m_kernels.size())
            node.ready = now;
        else
            wake(now, n);
    }

    void go_on(Ns now, std::size_t n)
    {
        Node& node = m_nodes[n];
        const std::size_t kernel = (node.first + node.done * node.step) % m_kernels.size();
        if (node.doing == Doing::compiling) {
            // Sent in the background; the lease ends behind it.
            if (const Ns sent = ask(now, node, kernel, m_kernels[kernel].bytes); sent >= 0) {
                if (m_stored[kernel] < 0)
                    m_stored[kernel] = sent;
                if (node.holds)
                    m_lease_until[kernel] = sent;
            }
            node.holds = false;
            next(now, n);
            return;
        }
        const bool there = m_stored[kernel] >= 0 && m_stored[kernel] <= now;
        const Ns answered = ask(now, node, kernel, there ? m_kernels[kernel].bytes : 0);
        if (answered < 0) {
            compile(now + (answered == -1 ? m_costs.deadline : 0), n, kernel);
            return;
        }
        if (there) {
            next(answered, n);
            return;
        }
        if (!m_scenario.lease) {
            compile(answered, n, kernel);
            return;
        }
        if (node.doing == Doing::waiting && answered - node.waits_since >= m_costs.lease_wait) {
            compile(answered, n, kernel);
            return;
        }
        // Who waits asks for the entry each time, and for the lease every fourth: its holder may be dead.
        const bool try_lease = node.doing != Doing::waiting || ++node.polls % 4 == 0;
        if (!try_lease) {
            wait(answered, n);
            return;
        }
        const Ns asked = ask(answered, node, kernel, 0);
        if (asked >= 0 && m_lease_until[kernel] > asked) {
            if (node.doing != Doing::waiting) {
                node.doing = Doing::waiting;
                node.waits_since = asked;
                node.polls = 0;
            }
            wait(asked, n);
            return;
        }
        // Whoever held it since we looked has sent what we want.
        if (asked >= 0 && m_stored[kernel] >= 0 && m_stored[kernel] <= asked) {
            next(std::max(ask(asked, node, kernel, m_kernels[kernel].bytes), asked), n);
            return;
        }
        m_lease_until[kernel] = asked + m_kernels[kernel].compile + m_costs.lease_time;
        node.holds = true;
        compile(std::max(asked, answered), n, kernel);
    }

    // Not all at the same moment: a quarter more or less.
    void wait(Ns now, std::size_t n)
    {
        Node& node = m_nodes[n];
        node.pause = node.pause == 0 ? m_costs.first_pause : std::min(2 * node.pause, m_costs.longest_pause);
        const auto spread = static_cast<std::uint64_t>(node.pause / 2);
        wake(now + node.pause * 3 / 4 + static_cast<Ns>(m_random() % spread), n);
    }

    const Costs m_costs;
    const std::vector<Kernel> m_kernels;
    const Scenario m_scenario;
    const std::size_t m_shards;
    std::vector<Ns> m_stored;       // since when; -1: not
    std::vector<Ns> m_lease_until;  // -1: nobody holds it
    std::vector<Ns> m_free_at;
    std::vector<Ns> m_worked;
    std::vector<Node> m_nodes;
    std::priority_queue<Event, std::vector<Event>, std::greater<>> m_events;
    std::mt19937_64 m_random{7};
    Outcome m_outcome;
    Ns m_end = 1;
};

// Small kernels are many, kernels with CUB inside are few: 40 ms to 2 s, 4 to 220 KB.
std::vector<Kernel> some_kernels(std::size_t count, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    std::lognormal_distribution<double> compile(std::log(0.08), 1.0);
    std::lognormal_distribution<double> size(std::log(12'000.0), 1.0);
    std::vector<Kernel> kernels(count);
    for (Kernel& kernel : kernels) {
        kernel.compile = static_cast<Ns>(std::clamp(compile(random), 0.03, 3.0) * static_cast<double>(k_s));
        kernel.bytes = static_cast<std::uint32_t>(std::clamp(size(random), 4e3, 220e3));
    }
    return kernels;
}

std::uint64_t argument(int argc, char** argv, const char* name, std::uint64_t otherwise)
{
    for (int i = 1; i + 1 < argc; ++i)
        if (std::strcmp(argv[i], name) == 0)
            return std::strtoull(argv[i + 1], nullptr, 10);
    return otherwise;
}

double in_seconds(Ns time)
{
    return static_cast<double>(time) / static_cast<double>(k_s);
}

}  // namespace

int main(int argc, char** argv)
{
    const std::size_t nodes = std::max<std::uint64_t>(argument(argc, argv, "--nodes", 10'000), 1);
    const std::size_t count = std::max<std::uint64_t>(argument(argc, argv, "--kernels", 2'000), 2);
    const std::size_t shards = std::max<std::uint64_t>(argument(argc, argv, "--shards", 6), 1);
    const std::uint64_t seed = argument(argc, argv, "--seed", 1);
    const Ns window = static_cast<Ns>(std::max<std::uint64_t>(argument(argc, argv, "--window", 10), 1)) * k_s;
    const std::vector<Kernel> kernels = some_kernels(count, seed);
    double alone = 0;
    double bytes = 0;
    for (const Kernel& kernel : kernels) {
        alone += in_seconds(kernel.compile);
        bytes += kernel.bytes;
    }
    std::printf("%zu nodes start within %.0f s; each wants the same %zu kernels (%.0f s of compiling, %.1f MB); %zu "
                "shards\n\n",
                nodes, in_seconds(window), count, alone, bytes * 1e-6, shards);
    std::printf("%-44s %10s %9s %12s %10s %11s %10s %8s\n", "SCENARIO", "COMPILES", "A KERNEL", "COMPILE h", "MEDIAN s",
                "LAST s", "REQUESTS", "BUSIEST");
    const Scenario scenarios[] = {
        {"no lease, all in the same order", false, Order::same},
        {"lease, all in the same order", true, Order::same},
        {"no lease, each in an order of its own", false, Order::shuffled},
        {"lease, each in an order of its own", true, Order::shuffled},
        {"the same, servers down from 5 s to 35 s", true, Order::shuffled, 5 * k_s, 35 * k_s},
    };
    std::printf("%-44s %10llu %9.2f %12.1f %10.1f %11.1f %10d %8s\n", "no cache at all",
                static_cast<unsigned long long>(nodes * count), static_cast<double>(nodes),
                alone * static_cast<double>(nodes) / 3600, alone, alone, 0, "-");
    for (const Scenario& scenario : scenarios) {
        const Outcome outcome = Simulation(nodes, kernels, shards, window, scenario, seed).run();
        std::printf("%-44s %10llu %9.2f %12.1f %10.1f %11.1f %9.1fM %7.0f%%\n", scenario.name,
                    static_cast<unsigned long long>(outcome.compiles),
                    static_cast<double>(outcome.compiles) / static_cast<double>(count), outcome.compile_hours,
                    in_seconds(outcome.median_ready), in_seconds(outcome.last_ready),
                    static_cast<double>(outcome.requests) * 1e-6, outcome.busiest_shard * 100);
    }
    return 0;
}

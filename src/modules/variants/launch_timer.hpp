#pragma once

#include "gpu/cuda/cuda_context.hpp"
#include "modules/variants/rounds.hpp"

#include <deque>
#include <optional>
#include <vector>

namespace hearth::cuda {

// Times launches by events around them in their own stream. It waits for none of them and synchronises nothing: times
// are collected later, when the device has come so far.
// The context has to be current in every call but the destructor. Thread safety: none.
class LaunchTimer {
public:
    struct Events {
        CUevent_st* before = nullptr;
        CUevent_st* after = nullptr;
    };

    // Also while another thread's stream is captured: asking about an event would end that capture.
    LaunchTimer(const gpu::CudaDriver& driver, const gpu::CudaContext& context) : m_driver(driver), m_context(context)
    {
    }
    ~LaunchTimer();
    LaunchTimer(const LaunchTimer&) = delete;
    LaunchTimer& operator=(const LaunchTimer&) = delete;

    // False: too many are under way.
    bool has_room() const noexcept;
    // Nothing is under way.
    bool is_empty() const noexcept { return m_under_way.empty(); }
    // None: the driver gives no events.
    std::optional<Events> begin(CUstream_st* stream);
    // After the launch.
    void end(const Events& events, const Rounds::Turn& turn, CUstream_st* stream, Rounds& rounds);
    // The launch failed.
    void give_back(const Events& events) { m_free.push_back(events); }
    // Hands over the times of what has ended.
    void collect(Rounds& rounds);

private:
    struct UnderWay {
        Events events;
        Rounds::Turn turn;
    };

    const gpu::CudaDriver& m_driver;
    const gpu::CudaContext m_context;
    std::vector<Events> m_free;
    std::deque<UnderWay> m_under_way;
};

}  // namespace hearth::cuda

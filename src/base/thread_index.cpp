#include "base/thread_index.hpp"

#include "base/fork.hpp"
#include "base/of_process.hpp"

#include <mutex>
#include <set>

namespace hearth::base {

namespace {

struct Numbers {
    ForkSafeMutex mutex{LockLevel::thread_numbers};
    std::set<std::size_t> free;
    std::size_t next = 0;
};

Numbers& numbers()
{
    return of_process<Numbers>();
}

// Gives the number back when the thread ends.
struct Holder {
    std::size_t index = 0;

    ~Holder()
    {
        Numbers& all = numbers();
        const std::lock_guard lock(all.mutex);
        all.free.insert(index);
        detail::t_own.number = 0;
    }
};

}  // namespace

namespace detail {

thread_local constinit OfThread t_own;

std::size_t take_thread_number() noexcept
{
    thread_local Holder holder;
    Numbers& all = numbers();
    const std::lock_guard lock(all.mutex);
    if (all.free.empty()) {
        holder.index = all.next++;
    } else {
        holder.index = *all.free.begin();
        all.free.erase(all.free.begin());
    }
    t_own.number = holder.index + 1;
    return holder.index;
}

}  // namespace detail

}  // namespace hearth::base

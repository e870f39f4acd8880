#include "base/thread_index.hpp"

#include <mutex>
#include <set>

namespace hearth::base {

namespace {

struct Numbers {
    std::mutex mutex;
    std::set<std::size_t> free;
    std::size_t next = 0;
};

// Never destroyed: threads may end after main() has.
Numbers& numbers()
{
    static auto* instance = new Numbers;
    return *instance;
}

struct Holder {
    std::size_t index;

    Holder()
    {
        Numbers& all = numbers();
        const std::lock_guard lock(all.mutex);
        if (all.free.empty()) {
            index = all.next++;
        } else {
            index = *all.free.begin();
            all.free.erase(all.free.begin());
        }
    }
    ~Holder()
    {
        Numbers& all = numbers();
        const std::lock_guard lock(all.mutex);
        all.free.insert(index);
    }
    Holder(const Holder&) = delete;
    Holder& operator=(const Holder&) = delete;
};

}  // namespace

std::size_t thread_index() noexcept
{
    thread_local const Holder holder;
    return holder.index;
}

}  // namespace hearth::base

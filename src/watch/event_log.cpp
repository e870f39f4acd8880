#include "watch/event_log.hpp"

#include <algorithm>
#include <ctime>
#include <new>
#include <sys/mman.h>

namespace hearth::watch {

namespace {

constexpr std::size_t k_chunk = std::size_t{256} << 10U;
constexpr std::size_t k_alignment = 16;

constexpr std::size_t aligned(std::size_t size)
{
    return (size + k_alignment - 1) / k_alignment * k_alignment;
}

}  // namespace

std::int64_t stamping_clock() noexcept
{
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

EventLog::~EventLog()
{
    for (Chunk* chunk = m_chunk.load(std::memory_order_relaxed); chunk != nullptr;) {
        Chunk* const before = chunk->before;
        ::munmap(chunk, chunk->size);
        chunk = before;
    }
}

void* EventLog::take(std::size_t size) noexcept
{
    const std::size_t wanted = aligned(size);
    for (;;) {
        // acquire: pairs with the release below, so that the chunk's head is seen.
        Chunk* chunk = m_chunk.load(std::memory_order_acquire);
        if (chunk != nullptr) {
            const std::size_t at = chunk->used.fetch_add(wanted, std::memory_order_relaxed);
            if (at + wanted <= chunk->size)
                return reinterpret_cast<std::byte*>(chunk) + at;
        }
        const std::size_t bytes = std::max(k_chunk, wanted + aligned(sizeof(Chunk)));
        void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return nullptr;
        auto* const fresh = new (memory) Chunk;
        fresh->before = chunk;
        fresh->size = bytes;
        fresh->used.store(aligned(sizeof(Chunk)), std::memory_order_relaxed);
        if (!m_chunk.compare_exchange_strong(chunk, fresh, std::memory_order_release, std::memory_order_relaxed))
            ::munmap(memory, bytes);  // another thread was quicker
    }
}

void EventLog::add(const Event& event) noexcept
{
    void* const memory = take(sizeof(Record) + event.name.size() + event.answer.size());
    if (memory == nullptr) {
        mark_incomplete();
        return;
    }
    auto* const record = new (memory) Record{event};
    if (event.at_ns == 0)
        record->event.at_ns = stamping_clock();
    char* const name = reinterpret_cast<char*>(record + 1);
    char* const answer = std::copy(event.name.begin(), event.name.end(), name);
    std::copy(event.answer.begin(), event.answer.end(), answer);
    record->event.name = {name, event.name.size()};
    record->event.answer = {answer, event.answer.size()};
    Record* last = m_last.load(std::memory_order_relaxed);
    do
        record->next = last;
    // release: whoever reads the list sees the record.
    while (!m_last.compare_exchange_weak(last, record, std::memory_order_release, std::memory_order_relaxed));
}

const EventLog::Record* EventLog::in_order() const
{
    // acquire: pairs with the release in add().
    Record* record = m_last.exchange(nullptr, std::memory_order_acquire);
    if (record == nullptr)
        return m_first;
    const Record* first = nullptr;
    while (record != nullptr) {
        Record* const before = record->next;
        record->next = const_cast<Record*>(first);
        first = record;
        record = before;
    }
    m_first = first;
    return m_first;
}

}  // namespace hearth::watch

#include "tiers/memory/memory_cost.hpp"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

namespace hearth::tiers {

namespace {

// Measured: an entry of one section without a name. It has a node of 128 bytes, an artifact of 224, two counters of
// owners, two to four slots of 16 bytes in the table, 170 bytes in GDSF's ranking, and the allocator's part.
constexpr std::uint64_t k_bookkeeping = 670;
// Less than this is not worth a copy.
constexpr std::uint64_t k_least_slack = 4096;

std::uint64_t on_heap(const std::string& text)
{
    return text.capacity() > std::string{}.capacity() ? text.capacity() + 1 : 0;
}

// What the buffers hold that the sections and the request do not; those that share one have it once.
std::uint64_t slack(const Artifact& artifact)
{
    struct Buffer {
        const void* at;
        std::uint64_t bytes;
    };
    std::vector<Buffer> buffers{{artifact.request.buffer(), artifact.request.buffer_size()}};
    for (const Section& section : artifact.sections)
        buffers.push_back({section.data.buffer(), section.data.buffer_size()});
    std::sort(buffers.begin(), buffers.end(),
              [](const Buffer& a, const Buffer& b) { return std::less<>{}(a.at, b.at); });
    std::uint64_t kept = 0;
    for (std::size_t i = 0; i < buffers.size(); ++i)
        kept += i > 0 && buffers[i].at == buffers[i - 1].at ? 0 : buffers[i].bytes;
    const std::uint64_t used = artifact.size() + artifact.request.size();
    return kept - std::min(kept, used);
}

}  // namespace

std::uint64_t memory_beside(const Artifact& artifact)
{
    const Metadata& about = artifact.metadata;
    std::uint64_t bytes = k_bookkeeping + slack(artifact) + artifact.request.size() + on_heap(about.label) +
                          on_heap(about.compiler) + on_heap(about.target);
    for (const std::string& option : about.options)
        bytes += sizeof(std::string) + on_heap(option);
    for (const Section& section : artifact.sections)
        bytes += sizeof(Section) + on_heap(section.name);
    return bytes;
}

std::shared_ptr<const Artifact> without_slack(std::shared_ptr<const Artifact> artifact)
{
    if (slack(*artifact) < std::max(k_least_slack, artifact->size() + artifact->request.size()))
        return artifact;
    auto copy = std::make_shared<Artifact>(*artifact);
    for (Section& section : copy->sections)
        section.data = Bytes::copy_of(section.data.view());
    copy->request = Bytes::copy_of(copy->request.view());
    return copy;
}

}  // namespace hearth::tiers

// The input is the file in which the processes of a machine share what they know of a server.

#include "base/digest.hpp"
#include "base/wire.hpp"
#include "fuzz/fuzz.hpp"
#include "remote/breaker.hpp"
#include "support/single_file.hpp"

#include <string>

namespace {

using namespace hearth;
using remotes::Breaker;

constexpr std::size_t k_file_size = 32;
constexpr std::size_t k_body_size = 24;
constexpr std::uint64_t k_s = 1'000'000'000;
constexpr std::uint64_t k_now = 1'700'000'000 * k_s;
constexpr std::uint64_t k_longest_rest = 60 * k_s;

std::string with_sum(std::string body)
{
    const base::Checksum sum = base::checksum(base::ChecksumKind::sha256, as_bytes(body)).value();
    return body + std::string(as_text(std::as_bytes(std::span(sum)).first(k_file_size - k_body_size)));
}

// A machine with one such file and a clock.
struct Machine {
    test::SingleFile file;
    std::uint64_t now = k_now;

    explicit Machine(std::string_view content) : file(std::string(content)) {}
    Breaker process()
    {
        return Breaker(
            "state/remote", [this] { return now; }, Users::one, file);
    }
};

// By the grammar in remote/breaker.hpp, whether the file keeps a server from being asked at k_now.
bool says_wait(std::string_view content)
{
    const std::string_view file = content.substr(0, k_file_size);
    if (file.size() < k_file_size || !file.starts_with("HRTHBRK1") ||
        with_sum(std::string(file.substr(0, k_body_size))) != file)
        return false;
    base::WireReader reader(as_bytes(file.substr(8)));
    const auto down_until = reader.number<std::uint64_t>();
    return down_until > k_now && down_until <= k_now + k_longest_rest;
}

void check(std::string_view content)
{
    Machine machine(content);
    {
        Breaker process = machine.process();
        process.look();
        fuzz::require(process.allows() != says_wait(content), "a file that is whole is believed, and no other");
        fuzz::require(!process.rests() || process.is_down(), "what rests is down");
    }
    if (says_wait(content)) {
        machine.file.content() = content;
        machine.now = k_now + k_longest_rest;
        fuzz::require(machine.process().allows(), "within a minute a server is tried, whatever the file says");
        machine.now = k_now;
    }
    for (const Breaker::Failure failure :
         {Breaker::Failure::request, Breaker::Failure::server, Breaker::Failure::refusal}) {
        machine.file.content() = content;
        Breaker process = machine.process();
        static_cast<void>(process.allows());
        for (int i = 0; i < 3; ++i)
            process.failed(failure);
        fuzz::require(process.is_down() && !process.allows() && !machine.process().allows(),
                      "what failed is left alone by every process");
        fuzz::require(machine.file.content().size() >= k_file_size && says_wait(machine.file.content()),
                      "for which it is written as it is read");
        machine.now += k_longest_rest / 2;
        fuzz::require(process.allows(), "for half a minute at most");
        process.succeeded();
        fuzz::require(machine.process().allows() && !process.is_down(), "what works is asked by all");
        machine.now = k_now;
    }
}

void try_input(std::string_view input)
{
    const std::string text(input);
    check(text);
    // With the sum made right, what stands before it is tried.
    if (input.size() >= k_body_size)
        check(with_sum(text.substr(0, k_body_size)));
}

const fuzz::Added k_added{{"breaker", 150'000, try_input}};

}  // namespace

#include "process/random_word.hpp"

#include "base/hex.hpp"
#include "terminal/exit.hpp"

#include <array>
#include <span>

#include <sys/random.h>

namespace hearth::cli {

std::string random_word()
{
    std::array<std::byte, 16> bytes{};
    if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
        fail("The system gives out no random bytes.");
    return base::to_hex(bytes);
}

}  // namespace hearth::cli

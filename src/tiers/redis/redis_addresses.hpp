#pragma once

#include "hearth/result.hpp"
#include "tiers/redis/redis_settings.hpp"

#include <sys/socket.h>
#include <vector>

namespace hearth::tiers::redis {

struct Address {
    sockaddr_storage storage{};
    socklen_t size = 0;
};

// Where an endpoint is: the path of its socket, its numeric address, or what the system's resolver says of its name by
// the deadline.
Result<std::vector<Address>> addresses_of(const Endpoint& endpoint, remotes::SteadyTime deadline);

}  // namespace hearth::tiers::redis

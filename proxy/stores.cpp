// Only in the drop-in libraries. They have the C++ library inside, and so have the remote stores that they load.

#include "remote/store_library.hpp"

namespace hearth::proxy {

namespace {

__attribute__((constructor)) void choose_stores()
{
    remotes::choose_stores(remotes::Stores::of_dropins);
}

}  // namespace

}  // namespace hearth::proxy

#pragma once

#include "hearth/cache.hpp"
#include "watch/file_identity.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace hearth::compilers {

// A fact about a file that takes long to find out, remembered in the cache under the file's identity, and in
// this process. Empty if there is no such file, or if `find_out` returns nothing, which is not remembered.
Bytes fact_of_file(Cache& cache, std::string_view what, const std::string& path,
                   const std::function<std::string()>& find_out);
// The same of a file that was just looked at.
Bytes fact_of_file(Cache& cache, std::string_view what, const std::string& path, const watch::FileIdentity& file,
                   const std::function<std::string()>& find_out);

// SHA-256 of the content, in hexadecimal.
std::string digest_of_file(Cache& cache, const std::string& path);

}  // namespace hearth::compilers

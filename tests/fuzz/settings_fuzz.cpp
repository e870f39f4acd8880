// The input is a configuration file.

#include "fuzz/fuzz.hpp"
#include "hearth/options.hpp"
#include "support/isolated_environment.hpp"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace {

using namespace hearth;

// A file of this process, which is what HEARTH_CONFIG names. No other setting comes from the environment.
class ConfigurationFile {
public:
    ConfigurationFile()
    {
        m_fd = ::mkstemp(m_path.data());
        fuzz::require(m_fd >= 0, "a temporary file can be made");
        m_environment.set("HEARTH_CONFIG", m_path);
    }
    ConfigurationFile(const ConfigurationFile&) = delete;
    ConfigurationFile& operator=(const ConfigurationFile&) = delete;
    ~ConfigurationFile()
    {
        ::close(m_fd);
        ::unlink(m_path.c_str());
    }

    void write(std::string_view text) const
    {
        // Cut after writing: some file systems take a file cut to nothing and written anew for one to be synced.
        fuzz::require(::pwrite(m_fd, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
                          ::ftruncate(m_fd, static_cast<off_t>(text.size())) == 0,
                      "the temporary file can be written");
    }

private:
    test::IsolatedEnvironment m_environment;
    std::string m_path = std::filesystem::temp_directory_path() / "hearth-fuzz-XXXXXX";
    int m_fd = -1;
};

void try_input(std::string_view input)
{
    static const ConfigurationFile file;
    file.write(input);
    const Settings settings = resolve();
    for (const Setting& setting : settings.values)
        fuzz::require(!setting.name.empty() && !setting.value.empty() && !setting.source.empty(),
                      "every setting has a value and a source");
    for (const std::string& problem : settings.problems)
        fuzz::require(problem.ends_with('.'), "a problem is a sentence");
    const CacheOptions& options = settings.options;
    fuzz::require(options.preset && options.directory && options.memory_bytes && options.disk_bytes &&
                      options.disk_entries && options.max_age && options.compression && options.access &&
                      options.users && options.policy_name && options.promote_after && options.caching &&
                      options.compiling && options.max_parallel_compiles && options.compile_time_limit &&
                      options.variants_after && options.durable && options.flight_wait && options.failure_ttl &&
                      options.maintenance && options.maintenance_interval && options.log_to,
                  "every option is filled");
    fuzz::require(*options.compression >= 0 && *options.compression <= 19, "a value out of range is passed over");
    fuzz::require(options.directory->find('\0') == std::string::npos, "a path is a path");
    fuzz::require(options.max_age->count() >= 0 && options.failure_ttl->count() >= 0, "no time is negative");
}

const fuzz::Added k_added({"settings", 30'000, try_input});

}  // namespace

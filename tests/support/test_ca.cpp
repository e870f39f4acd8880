#include "support/test_ca.hpp"

#include "support/process.hpp"
#include "support/server_process.hpp"

#include <memory>
#include <stdexcept>
#include <vector>

namespace hearth::test {

namespace {

void openssl(const std::vector<std::string>& words)
{
    std::vector<std::string> command{"/usr/bin/env", "openssl"};
    command.insert(command.end(), words.begin(), words.end());
    const ProcessResult done = run_process(command);
    if (done.exit_code != 0)
        throw std::runtime_error("openssl " + words.front() + ": " + done.err);
}

}  // namespace

TestCa::TestCa()
{
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
             m_folder / "ca.key", "-out", file(), "-days", "2", "-subj", "/CN=Hearth tests"});
}

TestCa::Certificate TestCa::issue(const std::string& name, const std::string& hosts, int days) const
{
    const Certificate certificate{m_folder / (name + ".pem"), m_folder / (name + ".key")};
    const std::string request = m_folder / (name + ".csr");
    const std::string extensions = m_folder / (name + ".ext");
    write_file(extensions, "subjectAltName=" + hosts + "\n");
    openssl({"req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", certificate.key,
             "-out", request, "-subj", "/CN=" + name});
    openssl({"x509", "-req", "-in", request, "-CA", file(), "-CAkey", m_folder / "ca.key", "-CAcreateserial", "-days",
             std::to_string(days), "-extfile", extensions, "-out", certificate.file});
    return certificate;
}

TestCa* shared_ca()
{
    static const std::unique_ptr<TestCa> ca = has_command("openssl") ? std::make_unique<TestCa>() : nullptr;
    return ca.get();
}

}  // namespace hearth::test

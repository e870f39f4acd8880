#include "support/nginx_server.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <unistd.h>

namespace hearth::test {

namespace {

// Looks, then writes: two who come at the same moment may both get through. Enough for tests that come one by one.
constexpr const char* k_condition = R"(
      set $seen "";
      if ($request_method = PUT) { set $seen "put"; }
      if ($http_if_none_match = "*") { set $seen "${seen} if absent"; }
      if (-f $request_filename) { set $seen "${seen} and there"; }
      if ($seen = "put if absent and there") { return 412; }
)";

std::string configuration(const NginxOptions& options, const std::string& folder, const std::string& files,
                          std::uint16_t port)
{
    std::string text = fmt::format("daemon off;\nmaster_process off;\npid {0}/pid;\nerror_log stderr warn;\n", folder);
    if (::geteuid() == 0)
        text += "user root;\n";
    text += fmt::format("events {{ worker_connections 512; }}\nhttp {{\n  access_log off;\n"
                        "  client_max_body_size 0;\n  keepalive_requests 1000000;\n"
                        "  client_body_temp_path {0}/body;\n  proxy_temp_path {0}/proxy;\n"
                        "  fastcgi_temp_path {0}/fastcgi;\n  uwsgi_temp_path {0}/uwsgi;\n  scgi_temp_path {0}/scgi;\n"
                        "  server {{\n    listen 127.0.0.1:{1}{2};\n    root {3};\n",
                        folder, port, options.certificate ? " ssl http2" : "", files);
    if (options.certificate)
        text += fmt::format("    ssl_certificate {};\n    ssl_certificate_key {};\n", options.certificate->file,
                            options.certificate->key);
    if (!options.clients_authority.empty())
        text += fmt::format("    ssl_verify_client {};\n    ssl_client_certificate {};\n",
                            options.insists_on_certificates ? "on" : "optional", options.clients_authority);
    if (!options.tls_versions.empty())
        text += fmt::format("    ssl_protocols {};\n", options.tls_versions);
    if (!options.token.empty())
        text += fmt::format("    if ($http_authorization != \"Bearer {}\") {{ return 401; }}\n", options.token);
    if (!options.user.empty())
        text += fmt::format("    auth_basic hearth;\n    auth_basic_user_file {}/users;\n", folder);
    text += "    location / {\n";
    if (!options.before.empty())
        text += fmt::format("      proxy_pass {};\n      proxy_set_header Host $http_host;\n", options.before);
    if (options.takes_put)
        text += "      dav_methods PUT DELETE;\n      create_full_put_path on;\n";
    if (options.honours_if_none_match)
        text += k_condition;
    return text + "    }\n  }\n}\n";
}

}  // namespace

std::unique_ptr<NginxServer> NginxServer::start(const NginxOptions& options)
{
    if (!has_command("nginx"))
        return nullptr;
    std::unique_ptr<NginxServer> server(new NginxServer);
    const ScratchDirectory& folder = server->m_folder;
    if (!options.files.empty())
        server->m_files = options.files;
    std::filesystem::create_directory(server->files());
    write_file(folder / "users", options.user + ":{PLAIN}" + options.password + "\n");
    const auto command = [&](std::uint16_t port) {
        write_file(folder / "nginx.conf", configuration(options, folder.path(), server->files(), port));
        return server->command();
    };
    server->m_process = ServerProcess::at_a_free_port(command, folder / "nginx.log", server->m_port);
    return server;
}

void NginxServer::start_again()
{
    m_process = ServerProcess(command(), m_folder / "nginx.log");
}

std::vector<std::string> NginxServer::command() const
{
    return {"nginx", "-p", m_folder.path(), "-c", m_folder / "nginx.conf"};
}

}  // namespace hearth::test

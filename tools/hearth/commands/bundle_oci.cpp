#include "commands/bundle_parts.hpp"
#include "hearth/units.hpp"
#include "oci/layout.hpp"
#include "process/file_io.hpp"
#include "terminal/exit.hpp"
#include "terminal/output.hpp"
#include "terminal/progress_bar.hpp"
#include "terminal/text.hpp"
#include "json/json.hpp"

namespace hearth::cli {

namespace {

struct OciArguments {
    std::string folder;
    std::string bundle;
    bool json = false;
};

void print_image(const OciArguments& arguments, const oci::Image& image, const std::string& out)
{
    if (arguments.json)
        print_json({{"folder", arguments.folder},
                    {"file", arguments.bundle},
                    {"digest", image.digest},
                    {"id", image.facts.id},
                    {"entries", image.facts.entries},
                    {"bytes", image.facts.bytes}});
    else
        print_out("Wrote {} to {} ({}), image {}.\n", count_of(image.facts.entries, "entry", "entries"), printable(out),
                  format_size(image.facts.bytes), image.digest);
}

// Of an empty name the root would be made, or read.
void add_folder(Command& command, std::string& folder, const std::string& help)
{
    command.text("FOLDER", folder, help).required().checked_by([](const std::string& name) {
        return name.empty() ? "FOLDER: an empty name is no folder" : "";
    });
}

int run_to_oci(const Globals& /*globals*/, const OciArguments& arguments)
{
    const oci::Image image = or_fail(with_progress("Writing", unless(arguments.json), [&](const Progress& progress) {
        return oci::write_layout(arguments.folder, arguments.bundle, progress);
    }));
    print_image(arguments, image, arguments.folder);
    return k_done;
}

int run_from_oci(const Globals& /*globals*/, const OciArguments& arguments)
{
    keep_other_files(arguments.bundle, k_bundle_file);
    const oci::Image image = or_fail(with_progress("Writing", unless(arguments.json), [&](const Progress& progress) {
        return oci::read_layout(arguments.bundle, arguments.folder, progress);
    }));
    print_image(arguments, image, arguments.bundle);
    return k_done;
}

}  // namespace

void add_bundle_oci(Command& bundle)
{
    Command command = bundle.part(
        "oci", "Writes a bundle as an OCI image layout, which registries of container images carry",
        "  hearth bundle oci kernels.oci kernels.bundle\n"
        "  skopeo copy oci:kernels.oci docker://registry.example/kernels:1\n"
        "  hearth bundle oci kernels.oci kernels.bundle --json | jq -r .digest",
        "The bundle is in it byte for byte, with its signature, and the same bundle gives the same digests. What it is "
        "stands in the image's annotations and labels: 'skopeo inspect oci:kernels.oci'.");
    auto& arguments = command.runs(run_to_oci);
    add_folder(command, arguments.folder, "The folder to write; one that holds something is left as it is");
    command.text("BUNDLE", arguments.bundle, "The bundle").required();
    command.json(arguments.json);
}

void add_bundle_from_oci(Command& bundle)
{
    Command command = bundle.part("from-oci", "Writes the bundle that an OCI image layout holds",
                                  "  hearth bundle from-oci kernels.bundle kernels.oci\n"
                                  "  hearth bundle from-oci kernels.bundle kernels.oci --json | jq -r .id\n"
                                  "  hearth bundle verify kernels.bundle --trusted build.pub",
                                  "Every digest is checked. They show that nothing was damaged on the way, and not who "
                                  "wrote it: a signature does.");
    auto& arguments = command.runs(run_from_oci);
    command.text("BUNDLE", arguments.bundle, "The bundle to write; an existing one is replaced once it is complete")
        .required();
    add_folder(command, arguments.folder, "The image layout");
    command.json(arguments.json);
}

}  // namespace hearth::cli

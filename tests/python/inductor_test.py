"""hearth.inductor: torch.compile on a CPU, in processes that have nothing but Hearth in common."""

import json
import os
import shutil

import support

# Compiles a function with a backward pass, and says what it got and how often torch's caches hit. Of nothing but products
# of matrices: for others torch would have g++ compile for 20 s what does not go through these caches.
_PROGRAM = """
    import json, logging
    logging.basicConfig()
    import hearth.inductor
    hearth.inductor.enable()
    import torch
    from torch._dynamo.utils import counters

    @torch.compile
    def product(x, w):
        return x @ w @ w

    torch.manual_seed(0)
    w = torch.randn(8, 8, requires_grad=True)
    value = product(torch.randn(8, 8), w).sum()
    value.backward()
    print(json.dumps({"value": value.item(), "gradient": w.grad.sum().item(),
                      "autograd": [counters["aot_autograd"]["autograd_cache_hit"],
                                   counters["aot_autograd"]["autograd_cache_miss"]]}))
    """


class InductorTest(support.FolderTest):
    def setUp(self):
        super().setUp()
        self.own = self.path("torch")

    def run_it(self, **more):
        self.write({"program.py": _PROGRAM})
        words = [support.PYTHON, self.path("program.py")]
        result = self.start(words, self.environment(TORCHINDUCTOR_CACHE_DIR=self.own, **more))
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout.splitlines()[-1]), result.stderr

    def test_what_one_process_compiled_another_has_though_torchs_own_files_are_gone(self):
        first, said = self.run_it()
        self.assertEqual(first["autograd"], [0, 1], said)
        shutil.rmtree(self.own)
        second, said = self.run_it()
        self.assertEqual(second["autograd"], [1, 0], said)
        self.assertEqual((second["value"], second["gradient"]), (first["value"], first["gradient"]))
        # A value that is damaged is a miss.
        for place, _, names in os.walk(self.path("cache")):
            for name in names:
                with open(os.path.join(place, name), "r+b") as file:
                    file.seek(os.path.getsize(os.path.join(place, name)) // 2)
                    file.write(b"damage")
        shutil.rmtree(self.own)
        third, _ = self.run_it()
        self.assertEqual((third["value"], third["gradient"]), (first["value"], first["gradient"]))

    def test_a_cache_that_cannot_be_used_is_no_matter_to_torch(self):
        first, _ = self.run_it(HEARTH_DIR=self.blocked())
        self.assertEqual(first["autograd"], [0, 1])


if __name__ == "__main__":
    support.main_with("import torch")

"""Writes LoRA adapters with Hugging Face PEFT and the logits that they give, for the tests of llm-runtime.

    python -m venv venv && venv/bin/pip install torch transformers peft numpy gguf
    OMP_NUM_THREADS=1 venv/bin/python make_adapter_goldens.py ../resources/golden

The bases are the small models of tiny.json (see make_logits_goldens.py). An adapter is saved by PEFT itself; its logits
are those of the model that PEFT makes by merging the adapter into the base.

  adapters/<name>/adapter_config.json, adapter_model.safetensors
  adapters.json      for each adapter its base, and for each prompt the logits after it and a greedy continuation
"""

import json
import os
import shutil
import sys

import torch
from make_logits_goldens import greedy, round_to, weights
from peft import LoraConfig, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM

ALL = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
ADAPTERS = {
    "llama-all": ("llama-untied", torch.float32, dict(r=4, lora_alpha=16, target_modules=ALL)),
    "llama-rank-stabilised": (
        "llama-untied", torch.float16,
        dict(r=8, lora_alpha=16, target_modules=["q_proj", "v_proj"], use_rslora=True, rank_pattern={"q_proj": 3},
             alpha_pattern={"layers.1.self_attn.v_proj": 40})),
    "llama-one-layer": (
        "llama-untied", torch.float32, dict(r=2, lora_alpha=8, target_modules=["k_proj", "down_proj"],
                                            layers_to_transform=[1])),
    "qwen2-all": ("qwen2-tied", torch.bfloat16, dict(r=3, lora_alpha=12, target_modules="all-linear")),
    "qwen3-all": ("qwen3-tied", torch.bfloat16, dict(r=4, lora_alpha=8, target_modules=ALL)),
}
DTYPES = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
PROMPTS = ([5], [3, 1, 4, 1, 5, 9, 2, 6], [(5 * i * i + 3 * i + 1) % 96 for i in range(40)])


def base(golden):
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**golden["config"]), dtype=torch.float32).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.copy_(round_to(weights(key, tuple(parameter.shape)), DTYPES[golden["dtype"]]))
    return model


def main():
    out = sys.argv[1]
    with open(os.path.join(out, "tiny.json")) as f:
        tiny = json.load(f)
    result = {}
    for name, (base_name, dtype, settings) in ADAPTERS.items():
        torch.manual_seed(sum(name.encode()))
        model = get_peft_model(base(tiny[base_name]), LoraConfig(task_type="CAUSAL_LM", lora_dropout=0.1, **settings))
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                if "lora_" in key:  # PEFT starts B at zero
                    values = 0.2 * torch.randn(parameter.shape)
                    parameter.data = values.to(dtype)
        folder = os.path.join(out, "adapters", name)
        shutil.rmtree(folder, ignore_errors=True)
        model.save_pretrained(folder)
        os.remove(os.path.join(folder, "README.md"))
        merged = model.to(torch.float32).eval().merge_and_unload()
        cases = []
        for ids in PROMPTS:
            with torch.no_grad():
                logits = merged(torch.tensor([ids])).logits[0, -1]
            cases.append({"prompt": ids, "logits": [round(float(v), 7) for v in logits],
                          "greedy": greedy(merged, ids, 16)})
        result[name] = {"base": base_name, "cases": cases}
    with open(os.path.join(out, "adapters.json"), "w") as f:
        json.dump(result, f, separators=(",", ":"), sort_keys=True)
        f.write("\n")


if __name__ == "__main__":
    main()

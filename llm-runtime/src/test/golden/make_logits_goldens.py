"""Writes the golden files that the tests of llm-runtime compare with, using Hugging Face transformers.

    python -m venv venv && venv/bin/pip install torch transformers accelerate gguf numpy
    OMP_NUM_THREADS=1 venv/bin/python make_logits_goldens.py smollm2-135m.gguf ../resources/golden

Three files:
  blocks.json          random blocks of each GGUF type and the weights that the gguf package reads from them
  tiny.json            logits and greedy tokens of small random Llama, Qwen2 and Qwen3 models; their weights follow
                       from a formula (see `weights`), which the tests repeat in Java
  smollm2-135m.json    prompts, greedy continuations, argmax at each position of the dequantised model in fp32
  smollm2-135m.f32.gz  its logits after each prompt: all of the first prompt, every 16th of the next
                       four
"""

import gzip
import json
import os
import sys

import numpy as np
import torch
from gguf import GGMLQuantizationType, quants
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, Qwen2Config, Qwen3Config

BLOCK_TYPES = {"F16": 2, "BF16": 2, "Q8_0": 34, "Q4_0": 18, "Q4_1": 20, "Q5_0": 22, "Q5_1": 24,
               "Q4_K": 144, "Q5_K": 176, "Q6_K": 210}
# Where the half-precision scales of a block lie.
HALVES = {"Q8_0": [0], "Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q4_K": [0, 2], "Q5_K": [0, 2],
          "Q6_K": [208]}
PROMPTS = [
    "The capital of France is",
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nWhat is 17 plus 25? Explain step by"
    " step.<|im_end|>\n<|im_start|>assistant\n",
    "Once upon a time, in a small village by the sea, there lived an old fisherman who",
    "Écrivez une phrase: le chat dort sur le canapé et 1234567 + 89 =",
]
CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
PROMPTS += [CHAT.format(question) for question in (
    "Name three rivers in Europe.",
    "Write a Python function that returns the sum of a list of numbers.",
    "What day comes after Friday?",
    "Sort these words: pear, apple, fig.",
    "Why is the sky blue?",
    "Translate to French: good morning.",
)]
PROMPTS += [
    "import numpy as np\n\ndef softmax(x):\n",
    "The mitochondria is the powerhouse of the cell. It produces",
    "SELECT name, price FROM products WHERE",
    "Water boils at 100 degrees Celsius because",
    "In 1969, the first humans landed on",
]
# Prompts whose logits are kept; of the others only the likeliest tokens.
LOGIT_PROMPTS = 5
GREEDY_TOKENS = 64


def mix(z):
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def weights(name, shape):
    """Weight i of a tensor is the SplitMix64 value of (FNV-1a hash of its name) + i, scaled to fp32."""
    seed = 0xCBF29CE484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    count = int(np.prod(shape))
    with np.errstate(over="ignore"):
        bits = mix(np.uint64(seed) + np.arange(count, dtype=np.uint64)) >> np.uint64(40)
    uniform = bits.astype(np.float32) / np.float32(1 << 24) - np.float32(0.5)
    if "norm" in name:
        return (np.float32(1) + np.float32(0.5) * uniform).reshape(shape)
    return (np.float32(0.5) * uniform).reshape(shape)


def round_to(values, dtype):
    return torch.from_numpy(values).to(dtype).to(torch.float32)


def greedy(model, ids, count):
    ids, chosen = list(ids), []
    with torch.no_grad():
        out = model(torch.tensor([ids]), use_cache=True)
        for _ in range(count):
            chosen.append(int(out.logits[0, -1].argmax()))
            out = model(torch.tensor([[chosen[-1]]]), past_key_values=out.past_key_values, use_cache=True)
    return chosen


def blocks():
    rng = np.random.default_rng(7)
    result = {}
    for name, size in BLOCK_TYPES.items():
        count = 4 if size > 2 else 32
        raw = rng.integers(0, 256, (count, size), dtype=np.uint8)
        if size == 2:
            values = rng.standard_normal(count).astype(np.float32)
            raw = (values.astype(np.float16).view(np.uint8) if name == "F16"
                   else (values.view(np.uint32) >> 16).astype(np.uint16).view(np.uint8)).reshape(count, 2)
        for at in HALVES.get(name, []):
            scales = (0.01 + rng.random(count)).astype(np.float16)
            raw[:, at:at + 2] = scales.view(np.uint8).reshape(count, 2)
        values = quants.dequantize(raw.reshape(1, -1), GGMLQuantizationType[name]).reshape(-1)
        result[name] = {"bytes": raw.tobytes().hex(), "values": [float(v) for v in values]}
    return result


def tiny():
    shape = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, vocab_size=96, max_position_embeddings=128, rms_norm_eps=1e-5,
                 bos_token_id=0, eos_token_id=1)
    rope = {"rope_type": "default", "rope_theta": 5000.0}
    llama3 = {"rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0, "low_freq_factor": 1.0,
              "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
    linear = {"rope_type": "linear", "rope_theta": 5000.0, "factor": 4.0}
    models = {
        "llama-untied": (LlamaConfig(**shape, head_dim=16, rope_parameters=rope, tie_word_embeddings=False), "F32"),
        "llama-tied-llama3-rope": (
            LlamaConfig(**shape, head_dim=16, rope_parameters=llama3, tie_word_embeddings=True), "F16"),
        "llama-linear-rope-biases": (
            LlamaConfig(**shape, head_dim=16, rope_parameters=linear, tie_word_embeddings=True, attention_bias=True,
                        mlp_bias=True), "F32"),
        "qwen2-tied": (
            Qwen2Config(**{**shape, "hidden_size": 64}, rope_parameters=rope, tie_word_embeddings=True), "BF16"),
        "qwen2-untied": (
            Qwen2Config(**{**shape, "hidden_size": 64}, rope_parameters=rope, tie_word_embeddings=False), "F32"),
        "qwen3-tied": (Qwen3Config(**shape, head_dim=16, rope_parameters=rope, tie_word_embeddings=True), "F32"),
        "qwen3-untied": (Qwen3Config(**shape, head_dim=16, rope_parameters=rope, tie_word_embeddings=False), "BF16"),
    }
    dtypes = {"F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
    result = {}
    for name, (config, dtype) in models.items():
        model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
        with torch.no_grad():
            for key, parameter in model.named_parameters():
                parameter.copy_(round_to(weights(key, tuple(parameter.shape)), dtypes[dtype]))
        cases = []
        for ids in ([5], [3, 1, 4, 1, 5, 9, 2, 6], [(7 * i * i + i) % 96 for i in range(70)]):
            with torch.no_grad():
                logits = model(torch.tensor([ids])).logits[0, -1]
            cases.append({"prompt": ids, "logits": [float(v) for v in logits], "greedy": greedy(model, ids, 24)})
        result[name] = {"dtype": dtype, "config": config.to_dict(), "tensors":
                        {key: list(p.shape) for key, p in model.named_parameters()}, "cases": cases}
        if config.rope_parameters["rope_type"] == "llama3":
            # What a GGUF file stores: the factor that divides each plain frequency.
            plain = 1 / config.rope_parameters["rope_theta"] ** (torch.arange(0, 16, 2).float() / 16)
            result[name]["rope_factors"] = [float(f) for f in plain / model.model.rotary_emb.inv_freq]
    return result


def real(path, out):
    folder, file = os.path.split(os.path.abspath(path))
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=file)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32).eval()
    cases, logits = [], []
    for i, prompt in enumerate(PROMPTS):
        ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
        continuation = greedy(model, ids, GREEDY_TOKENS)
        with torch.no_grad():
            all_logits = model(torch.tensor([ids + continuation])).logits[0]
            last = model(torch.tensor([ids])).logits[0, -1].numpy().astype("<f4")
        if i < LOGIT_PROMPTS:
            logits.append(last if i == 0 else last[::16])
        cases.append({"prompt": ids, "greedy": continuation, "argmax": all_logits.argmax(-1).tolist()})
    with open(os.path.join(out, "smollm2-135m.f32.gz"), "wb") as f:
        f.write(gzip.compress(np.concatenate(logits).tobytes(), 9, mtime=0))
    return {"cases": cases, "stride": 16, "logit_cases": LOGIT_PROMPTS}


def main():
    out = sys.argv[2]
    os.makedirs(out, exist_ok=True)
    torch.manual_seed(0)
    for name, content in (("blocks", blocks()), ("tiny", tiny()), ("smollm2-135m", real(sys.argv[1], out))):
        with open(os.path.join(out, name + ".json"), "w") as f:
            json.dump(content, f, separators=(",", ":"), sort_keys=True, default=str)
            f.write("\n")


if __name__ == "__main__":
    main()

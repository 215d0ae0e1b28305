"""Makes a small folder of ONNX Runtime GenAI with that project's model builder, for the tests of llm-runtime.

    python -m venv venv && venv/bin/pip install torch transformers numpy gguf onnx onnx_ir onnxruntime onnxruntime-genai
    OMP_NUM_THREADS=1 venv/bin/python make_genai_golden.py ../resources/golden

  genai/        the folder: an fp32 Llama of two layers with weights by the formula of make_logits_goldens.py
  genai.json    for each prompt the logits that Hugging Face transformers gives, and a greedy continuation
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile

import torch
from make_logits_goldens import greedy, weights
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.,!?'-" + "\u0120"  # byte-level BPE's blank
PROMPTS = ([5], [3, 1, 4, 1, 5, 9, 2, 6], [(5 * i * i + 3 * i + 1) % 64 for i in range(40)])


def tokenizer():
    vocabulary = {text: i for i, text in enumerate(["<|bos|>", "<|eos|>", *LETTERS])}
    made = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    fast = PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<|bos|>", eos_token="<|eos|>")
    fast.chat_template = "{% for message in messages %}{{ message.content }} {% endfor %}"
    return fast


def main():
    out = sys.argv[1]
    config = LlamaConfig(
        hidden_size=32, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1,
        head_dim=16, vocab_size=64, max_position_embeddings=128, rms_norm_eps=1e-5, bos_token_id=0, eos_token_id=1,
        tie_word_embeddings=False, rope_parameters={"rope_type": "default", "rope_theta": 5000.0})
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.copy_(torch.from_numpy(weights(key, tuple(parameter.shape))))
    folder = os.path.join(out, "genai")
    shutil.rmtree(folder, ignore_errors=True)
    with tempfile.TemporaryDirectory() as source:
        model.save_pretrained(source)
        tokenizer().save_pretrained(source)
        subprocess.run([sys.executable, "-m", "onnxruntime_genai.models.builder", "-i", source, "-o", folder, "-p", "fp32",
                        "-e", "cpu"], check=True)
    cases = []
    for ids in PROMPTS:
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1]
        cases.append({"prompt": ids, "logits": [round(float(v), 7) for v in logits], "greedy": greedy(model, ids, 16)})
    with open(os.path.join(out, "genai.json"), "w") as f:
        json.dump({"cases": cases}, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()

"""Writes what the training tests compare with, computed by PyTorch, Transformers and PEFT in fp32.

    python -m venv venv && venv/bin/pip install torch transformers peft accelerate gguf numpy
    OMP_NUM_THREADS=1 venv/bin/python make_training_goldens.py smollm2-135m.gguf

The small models are those of llm-runtime's golden script, whose functions this one uses. Adapters are PEFT's; their
weights follow from the same formula as the models', scaled, which the Java tests repeat.

  ../resources/golden/training.json   for small models: log-probabilities and entropies of completion tokens at a
                                      temperature, a loss of both, and its gradient for every factor of the adapter
  ../resources/golden/smollm2.json    for SmolLM2-135M with an adapter: logits after prompts, and the same loss with the
                                      norms of its gradients
"""

import json
import math
import os
import sys

import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM

HERE = os.path.dirname(os.path.abspath(__file__))
RUNTIME = os.path.join(HERE, "..", "..", "..", "..", "llm-runtime", "src", "test")
sys.path.insert(0, os.path.join(RUNTIME, "golden"))

from make_adapter_goldens import ALL, base  # noqa: E402
from make_logits_goldens import weights  # noqa: E402

SMALL = ["llama-linear-rope-biases", "llama-untied", "qwen2-tied", "qwen3-untied"]
TEMPERATURE = 0.7
SMALL_LENGTHS = [(9, 6), (3, 11), (14, 1), (1, 13), (6, 9)]
SMOL_LENGTHS = [(12, 9), (5, 16)]
GRADIENT_STRIDE = 5
LOGIT_STRIDE = 16


def sequences(vocabulary, lengths):
    """TinyModels.sequences in Java."""
    result = []
    for i, (prompt, completion) in enumerate(lengths):
        result.append(([(7 * at * at + 3 * at + 22 * i + 2) % vocabulary for at in range(prompt)],
                       [(5 * at * at + at + 34 * i + 1) % vocabulary for at in range(completion)]))
    return result


def with_adapter(model, rank, alpha, factor):
    model = get_peft_model(model, LoraConfig(task_type="CAUSAL_LM", r=rank, lora_alpha=alpha, lora_dropout=0.0,
                                             target_modules=ALL))
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            if "lora_" in key:
                values = weights(key.replace(".default", ""), tuple(parameter.shape))
                parameter.copy_(torch.from_numpy(values) * factor)
    return model


def loss_of(model, batch):
    """Sum over completion tokens of sin(k + 1)·logprob + 0.3·cos(k)·entropy, over their number; k counts all tokens."""
    logprobs, entropies = [], []
    for prompt, completion in batch:
        logits = model(torch.tensor([prompt + completion])).logits[0, len(prompt) - 1:-1].float() / TEMPERATURE
        scores = logits.log_softmax(-1)
        logprobs.append(scores.gather(1, torch.tensor(completion).unsqueeze(1)).squeeze(1))
        entropies.append(-(scores.exp() * scores).sum(-1))
    logprobs, entropies = torch.cat(logprobs), torch.cat(entropies)
    k = torch.arange(len(logprobs), dtype=torch.float64)
    loss = ((torch.sin(k + 1).float() * logprobs + 0.3 * torch.cos(k).float() * entropies).sum()) / len(logprobs)
    return loss, logprobs, entropies


def rounded(values):
    return [float(f"{float(v):.8g}") for v in values]


def small(name):
    with open(os.path.join(RUNTIME, "resources", "golden", "tiny.json")) as f:
        golden = json.load(f)[name]
    model = with_adapter(base(golden), 4, 8, 0.2).eval()
    loss, logprobs, entropies = loss_of(model, sequences(golden["config"]["vocab_size"], SMALL_LENGTHS))
    loss.backward()
    gradients = {key.replace(".default", ""): rounded(p.grad.flatten()[::GRADIENT_STRIDE])
                 for key, p in model.named_parameters() if p.requires_grad}
    return {"loss": loss.item(), "logprobs": rounded(logprobs), "entropies": rounded(entropies),
            "gradients": gradients}


def smollm2(path):
    folder, file = os.path.split(os.path.abspath(path))
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=file, dtype=torch.float32)
    model = with_adapter(model, 2, 4, 0.15).eval()
    batch = sequences(model.config.vocab_size, SMOL_LENGTHS)
    loss, logprobs, _ = loss_of(model, batch)
    loss.backward()
    norms = {key.replace(".default", ""): float(p.grad.norm())
             for key, p in model.named_parameters() if p.requires_grad}
    cases = []
    for prompt, completion in batch:
        with torch.no_grad():
            logits = model(torch.tensor([prompt + completion])).logits[0, -1]
        cases.append({"prompt": prompt + completion, "logits": rounded(logits[::LOGIT_STRIDE])})
    return {"loss": loss.item(), "logprobs": rounded(logprobs), "norms": norms, "cases": cases, "stride": LOGIT_STRIDE,
            "norm": math.sqrt(sum(v * v for v in norms.values()))}


def main():
    out = os.path.join(HERE, "..", "resources", "golden")
    os.makedirs(out, exist_ok=True)
    training = {"temperature": TEMPERATURE, "stride": GRADIENT_STRIDE, "models": {name: small(name) for name in SMALL}}
    for name, content in (("training", training), ("smollm2", smollm2(sys.argv[1]))):
        with open(os.path.join(out, name + ".json"), "w") as f:
            json.dump(content, f, separators=(",", ":"), sort_keys=True)
            f.write("\n")


if __name__ == "__main__":
    main()

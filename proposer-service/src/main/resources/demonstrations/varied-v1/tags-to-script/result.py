import re


def run(question, env):
    prompt = question + (
        "\n\nWrite a complete Python script that works this out and prints the answer alone, "
        "in exactly the form that is asked for. Reply with one ```python block."
    )
    for temperature in (0.0, 0.7):
        reply = env.llm(prompt, temperature=temperature)
        blocks = re.findall(r"```(?:python)?\s*\n(.*?)```", reply, re.DOTALL)
        result = env.python(blocks[-1] if blocks else reply)
        answer = result.stdout.strip()
        if answer and result.error is None:
            return answer
    return env.llm(question + "\n\nReply with the answer only.", max_tokens=64).strip()
